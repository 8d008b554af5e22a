#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<Complex<float>>, Sum<Complex<double>>);

}  // namespace reduce_ops::cuda
