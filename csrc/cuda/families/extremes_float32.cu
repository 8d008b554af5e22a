#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Signs<float>, Extremes<float>);

}  // namespace reduce_ops::cuda
