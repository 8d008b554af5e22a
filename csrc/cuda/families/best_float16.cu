#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Signs<Float16>, Best<float>);

}  // namespace reduce_ops::cuda
