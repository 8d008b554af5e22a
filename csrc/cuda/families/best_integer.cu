#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Flipped, Best<int64_t>);

}  // namespace reduce_ops::cuda
