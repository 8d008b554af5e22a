#include "cuda/launch.cuh"

namespace reduce_ops::cuda {

template cudaError_t run<Direct<Float16>, Sum<double>>(const Problem&, const Plan&,
                                                       const Direct<Float16>&, const void*, void*,
                                                       void*, cudaStream_t);

}  // namespace reduce_ops::cuda
