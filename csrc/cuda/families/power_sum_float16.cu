#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Elements = Powers<Float16, double>;
REDUCE_OPS_INSTANCE(Elements, PowerSum<double>);

}  // namespace reduce_ops::cuda
