#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Monoid = Description<double, float>;
REDUCE_OPS_INSTANCE(Direct<float>, Monoid);

}  // namespace reduce_ops::cuda
