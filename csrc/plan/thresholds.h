// The planner's numbers, from sweeps of plans on an H200 but where it says that they are guesses.
#pragma once

#include <cstdint>

namespace reduce_ops {

// Narrow rows go through shared memory where there are this many.
constexpr int kManyNarrowRows = 256;
// A row of up to this many chunks is read by one warp, in a single batch of loads, and one of up to
// four batches where there are at least so many rows per multiprocessor. Longer rows go to blocks.
constexpr int kWarpRowChunks = 64;
constexpr int kManyWarpRowsChunks = 512;
constexpr int kWarpRowsPerProcessor = 32;
// Rows of more segments are split over blocks: many equal blocks of one segment each keep every
// multiprocessor busy to the end, where fewer blocks of several segments leave a last wave.
constexpr int kFewSegments = 2;
constexpr int kFewSegmentsOfManyRows = 4;  // where every multiprocessor has rows
// Blocks per multiprocessor that splitting aims at; fewer for integers and 64-bit types, whose
// blocks take their segments in turn.
constexpr int kSplitBlocksPerProcessor = 96;
constexpr int kLoopedBlocksPerProcessor = 12;
// Rows at odd addresses take more instructions to start: so many per multiprocessor are not split,
// and fewer are split into blocks of several segments (both guesses).
constexpr int kShiftedRowsPerProcessor = 4;
constexpr int kShiftedBlocksPerProcessor = 6;
// Columns: threads along them that take a vector each, threads of a block of a split strip, and
// threads per multiprocessor below which a thread takes fewer segments.
constexpr int kVectorsAcross = 16;
constexpr int64_t kColumnBlockThreads = 256;
constexpr int kColumnThreadsPerProcessor = 960;
constexpr int kShiftedColumnThreadsPerProcessor = 640;  // at odd addresses
constexpr int kDeepColumnThreadsPerProcessor = 480;     // that load twice as many rows together
constexpr int kShallowSegments = 8;  // a thread, for which it need not load more at once
// Up to so many elements' worth of threads, each takes one column.
constexpr int kElementThreadsPerProcessor = 256;
constexpr int kSectorBytes = 32;  // of a row, that a strip takes at least
// Columns of narrow rows go through shared memory where there are so many segments, and so many
// blocks of them are wanted (both guesses).
constexpr int kNarrowSegmentsPerProcessor = 16;
constexpr int kNarrowBlocksPerProcessor = 4;
// Fewer columns that no vectors fit are taken one by one (a guess).
constexpr int kFewColumns = 32;

}  // namespace reduce_ops
