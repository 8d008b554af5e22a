// Every op but sum and mean, over the monoids of core/.
#pragma once

#include "cpu/engine.h"

namespace reduce_ops::cpu {

void run_monoid(const Problem& problem, const Plan& plan, const Operands& operands,
                const ParallelFor& parallel_for);

}  // namespace reduce_ops::cpu
