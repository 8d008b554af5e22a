#include "cuda/launch.cuh"

namespace reduce_ops::cuda {

template cudaError_t run<Cast<double>, Sum<DoublePair>>(const Problem&, const Plan&,
                                                        const Cast<double>&, const void*, void*,
                                                        void*, cudaStream_t);
template cudaError_t run<Cast<int64_t>, Sum<int64_t>>(const Problem&, const Plan&,
                                                      const Cast<int64_t>&, const void*, void*,
                                                      void*, cudaStream_t);

}  // namespace reduce_ops::cuda
