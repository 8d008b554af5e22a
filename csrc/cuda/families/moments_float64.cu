#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<double>, Moments<DoublePair>);

}  // namespace reduce_ops::cuda
