#include "cuda/launch.cuh"

namespace reduce_ops::cuda {

template cudaError_t run<Direct<double>, Sum<DoublePair>>(const Problem&, const Plan&,
                                                          const Direct<double>&, const void*, void*,
                                                          void*, cudaStream_t);

}  // namespace reduce_ops::cuda
