// What torch says of an op's arguments: which dtypes it takes and gives, what it refuses, what is
// left of nothing.
#pragma once

#include "ops/call.h"

namespace reduce_ops {

// Of the results, first to last, and of the elements as the op sees them.
struct Types {
  c10::SmallVector<at::ScalarType, 2> results;
  at::ScalarType cast;
};

// Throws where the op does not take the input's dtype, or dtype=, or the dtypes of out=.
Types types_of(const Call& call);

// Throws where an op without an identity has no elements to reduce; `empty(d)` says whether dim d
// of the input has size 0.
void check_identity(const Call& call, const Dims& dims, c10::function_ref<bool(int64_t)> empty);

// Warns where a variance of so many elements has no degrees of freedom.
void check_freedom(const Call& call, int64_t length);

}  // namespace reduce_ops
