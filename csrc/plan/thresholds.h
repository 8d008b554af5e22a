// The planner's numbers. Each was chosen from a sweep of plans on an H200.
#pragma once

namespace reduce_ops {

// A row of up to this many chunks is read by one warp in a single batch of loads.
constexpr int kOneBatchChunks = 128;
// Longer rows go to warps where there are at least this many rows per multiprocessor, else to
// blocks.
constexpr int kWarpRowsPerProcessor = 32;
// Rows of several segments are split over blocks where there are fewer rows per multiprocessor.
constexpr int kRowsPerProcessor = 8;
// A row of up to this many segments is too short to pay for a second kernel.
constexpr int kFewSegments = 4;
// Blocks per multiprocessor that splitting aims at.
constexpr int kSplitBlocksPerProcessor = 16;
constexpr int kColumnBlocksPerProcessor = 4;

}  // namespace reduce_ops
