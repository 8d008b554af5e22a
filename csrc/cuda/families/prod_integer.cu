#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Flipped, Prod<int64_t>);

}  // namespace reduce_ops::cuda
