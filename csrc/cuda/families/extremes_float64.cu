#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Signs<double>, Extremes<double>);

}  // namespace reduce_ops::cuda
