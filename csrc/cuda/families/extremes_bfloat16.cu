#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Signs<BFloat16>, Extremes<float>);

}  // namespace reduce_ops::cuda
