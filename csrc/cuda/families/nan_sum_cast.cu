#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Cast<double>, NanSum<DoublePair>);

}  // namespace reduce_ops::cuda
