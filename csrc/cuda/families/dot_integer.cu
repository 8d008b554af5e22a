#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(AnyIntegerProducts, Sum<int64_t>);

}  // namespace reduce_ops::cuda
