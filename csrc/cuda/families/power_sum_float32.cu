#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Elements = Powers<float, double>;
REDUCE_OPS_INSTANCE(Elements, PowerSum<double>);

}  // namespace reduce_ops::cuda
