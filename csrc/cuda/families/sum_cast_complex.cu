#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Cast<Complex<double>>, Sum<Complex<DoublePair>>);

}  // namespace reduce_ops::cuda
