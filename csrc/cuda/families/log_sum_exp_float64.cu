#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<double>, LogSumExp<double>);

}  // namespace reduce_ops::cuda
