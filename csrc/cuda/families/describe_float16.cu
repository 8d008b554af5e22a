#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Monoid = Description<double, float>;
REDUCE_OPS_INSTANCE(Direct<Float16>, Monoid);

}  // namespace reduce_ops::cuda
