#include "cuda/launch.cuh"

namespace reduce_ops::cuda {

template cudaError_t run<Direct<BFloat16>, Sum<double>>(const Problem&, const Plan&,
                                                        const Direct<BFloat16>&, const void*, void*,
                                                        void*, cudaStream_t);

}  // namespace reduce_ops::cuda
