#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Truth, Count);

}  // namespace reduce_ops::cuda
