#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Cast<double>, Prod<DoublePair>);
REDUCE_OPS_INSTANCE(Cast<int64_t>, Prod<int64_t>);

}  // namespace reduce_ops::cuda
