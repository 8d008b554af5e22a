#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Elements = Products<Complex<double>, Complex<DoublePair>>;
REDUCE_OPS_INSTANCE(Elements, Sum<Complex<DoublePair>>);

}  // namespace reduce_ops::cuda
