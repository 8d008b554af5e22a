#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

using Elements = Products<double, DoublePair>;
REDUCE_OPS_INSTANCE(Elements, Sum<DoublePair>);

}  // namespace reduce_ops::cuda
