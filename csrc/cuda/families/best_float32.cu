#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Signs<float>, Best<float>);

}  // namespace reduce_ops::cuda
