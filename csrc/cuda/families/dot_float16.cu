#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Elements = Products<Float16, double>;
REDUCE_OPS_INSTANCE(Elements, Sum<double>);

}  // namespace reduce_ops::cuda
