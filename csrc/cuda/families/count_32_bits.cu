#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(TruthOf<uint32_t>, Count);

}  // namespace reduce_ops::cuda
