#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Elements = Powers<double, DoublePair>;
REDUCE_OPS_INSTANCE(Elements, PowerSum<DoublePair>);

}  // namespace reduce_ops::cuda
