// How many threads work on a CPU problem, and how many share one result.
#include <algorithm>

#include "plan/cpu_order.h"
#include "plan/plan.h"

namespace reduce_ops {

namespace {

// A parallel region costs 2 µs while its threads are awake and 10 where they sleep, so each thread
// must have more than this to do.
constexpr int64_t kLeastNanosecondsAThread = 5000;
// Tasks a thread, so that an uneven division loses little.
constexpr int64_t kTasksAThread = 8;

// One thread's time for data in a shared cache, within a factor of two.
int64_t nanoseconds(const Problem& p) {
  const int size = size_of(p.in);
  if (!is_sum(p.op)) {
    const int more = p.op == Op::kLogSumExp ? 4 : 1;  // than the time to read it
    return int64_t(double(p.outputs) * double(p.length) * size * more * 0.03) + 10 * p.outputs;
  }
  int picoseconds = 2000;  // an element that is cast
  if (cpu_element_size(p) == size) {
    if (is_rows(p))
      picoseconds = size == 1 ? 12 : size == 2 ? 95 : size == 4 ? 65 : 140;
    else
      picoseconds = size == 4 ? 90 : size == 8 ? 190 : 100;
  }
  return int64_t(double(p.outputs) * double(p.length) * picoseconds / 1000) + p.outputs;
}

}  // namespace

Plan make_cpu_plan(const Problem& p, const DeviceTraits& device) {
  Plan plan;
  plan.engine = is_rows(p) ? Engine::kCpuRow : Engine::kCpuColumn;
  const int64_t useful = nanoseconds(p) / kLeastNanosecondsAThread;
  plan.threads = int(std::clamp<int64_t>(useful, 1, std::max(device.threads, 1)));
  plan.parts = 1;
  if (plan.threads == 1) return plan;
  // Rows are tasks one by one; columns are tasks in strips of up to 4096, or 1024.
  const int64_t columns = p.kept.count && p.kept.axis[0].in == 1 ? p.kept.axis[0].size : 1;
  const int64_t tasks =
      is_rows(p) ? p.outputs : p.outputs / columns * ceil_div(columns, is_sum(p.op) ? 4096 : 1024);
  const int64_t wanted = plan.threads * kTasksAThread;
  if (tasks < wanted)
    plan.parts = int(power_of_two_above(std::min(ceil_div(wanted, tasks), cpu_segments(p))));
  return plan;
}

std::string check_cpu_plan(const Plan& plan, const Problem&) {
  if (plan.vector || plan.across || plan.down || plan.segments)
    return "a cpu plan has the fields threads and parts only";
  return "";
}

}  // namespace reduce_ops
