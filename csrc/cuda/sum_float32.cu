#include "cuda/launch.cuh"

namespace reduce_ops::cuda {

template cudaError_t run<Direct<float>, Sum<double>>(const Problem&, const Plan&,
                                                     const Direct<float>&, const void*, void*,
                                                     void*, cudaStream_t);

}  // namespace reduce_ops::cuda
