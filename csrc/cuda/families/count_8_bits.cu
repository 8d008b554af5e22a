#include "cuda/instance.cuh"

namespace reduce_ops::cuda {

REDUCE_OPS_INSTANCE(TruthOf<uint8_t>, Count);

}  // namespace reduce_ops::cuda
