#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Signs<double>, Best<double>);

}  // namespace reduce_ops::cuda
