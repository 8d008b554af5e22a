// Everything a vector translation unit includes from elsewhere, before its target pragma: what
// these headers define inline must not be compiled for an instruction set that the CPU may lack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/elements.h"
#include "cpu/simd.h"
#include "plan/cpu_order.h"
