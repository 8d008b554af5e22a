#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<float>, Prod<double>);

}  // namespace reduce_ops::cuda
