#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Cast<double>, Sum<DoublePair>);
REDUCE_OPS_INSTANCE(Cast<int64_t>, Sum<int64_t>);

}  // namespace reduce_ops::cuda
