#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<double>, Prod<DoublePair>);

}  // namespace reduce_ops::cuda
