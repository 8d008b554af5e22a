#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<Float16>, Sum<double>);

}  // namespace reduce_ops::cuda
