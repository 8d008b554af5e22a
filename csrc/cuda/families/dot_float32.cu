#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Elements = Products<float, double>;
REDUCE_OPS_INSTANCE(Elements, Sum<double>);

}  // namespace reduce_ops::cuda
