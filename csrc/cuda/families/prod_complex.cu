#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(Direct<Complex<float>>, Prod<Complex<double>>);
REDUCE_OPS_INSTANCE(Cast<Complex<double>>, Prod<Complex<double>>);

}  // namespace reduce_ops::cuda
