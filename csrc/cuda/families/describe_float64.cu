#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Monoid = Description<DoublePair, double>;
REDUCE_OPS_INSTANCE(Direct<double>, Monoid);

}  // namespace reduce_ops::cuda
