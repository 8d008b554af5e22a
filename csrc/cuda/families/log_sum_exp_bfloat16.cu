#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<BFloat16>, LogSumExp<float>);

}  // namespace reduce_ops::cuda
