// One call of an op, from its arguments to its results.
#pragma once

#include "ops/call.h"

namespace reduce_ops {

using Results = c10::SmallVector<at::Tensor, 2>;

// On the CPU or a CUDA device, below the dispatcher. Everything is checked before out= is written.
Results reduce(const Call& call);

// The same for tensors without data, whose sizes may be symbolic.
Results reduce_meta(const Call& call);

// What a call comes down to, with results of its own; throws ValueError where that is more than one
// kernel.
Request single_request(const Call& call);

}  // namespace reduce_ops
