#include "cuda/launch.cuh"

namespace reduce_ops::cuda {

template cudaError_t run<Cast<Complex<double>>, Sum<Complex<DoublePair>>>(
    const Problem&, const Plan&, const Cast<Complex<double>>&, const void*, void*, void*,
    cudaStream_t);

}  // namespace reduce_ops::cuda
