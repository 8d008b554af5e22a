#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<double>, Sum<DoublePair>);

}  // namespace reduce_ops::cuda
