// Compiles the engines for one pair of elements and monoid.
#pragma once

#include "cuda/launch.cuh"

#define REDUCE_OPS_INSTANCE(Elements, ...)                                                      \
  template cudaError_t run<Elements, __VA_ARGS__>(const Problem&, const Plan&, const Elements&, \
                                                  const Operands&, void*, cudaStream_t)
