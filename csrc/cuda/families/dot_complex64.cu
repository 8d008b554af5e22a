#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Elements = Products<Complex<float>, Complex<double>>;
REDUCE_OPS_INSTANCE(Elements, Sum<Complex<double>>);

}  // namespace reduce_ops::cuda
