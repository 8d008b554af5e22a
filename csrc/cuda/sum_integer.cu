#include "cuda/launch.cuh"

namespace reduce_ops::cuda {

template cudaError_t run<AnyInteger, Sum<int64_t>>(const Problem&, const Plan&, const AnyInteger&,
                                                   const void*, void*, void*, cudaStream_t);

}  // namespace reduce_ops::cuda
