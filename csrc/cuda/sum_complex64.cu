#include "cuda/launch.cuh"

namespace reduce_ops::cuda {

template cudaError_t run<Direct<Complex<float>>, Sum<Complex<double>>>(
    const Problem&, const Plan&, const Direct<Complex<float>>&, const void*, void*, void*,
    cudaStream_t);

}  // namespace reduce_ops::cuda
