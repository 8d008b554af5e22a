// How many threads work on a CPU problem, and how many share one result.
#include <algorithm>

#include "plan/cpu_order.h"
#include "plan/plan.h"

namespace reduce_ops {

namespace {

// A parallel region costs 5 to 10 µs, so each thread must have more than this to do.
constexpr int64_t kLeastNanosecondsAThread = 10000;
// Tasks a thread, so that an uneven division loses little.
constexpr int64_t kTasksAThread = 8;

// One thread's time, within a factor of two: bytes from a shared cache, elements through the
// conversion to an accumulator.
int64_t nanoseconds(const Problem& p) {
  const int64_t elements = p.outputs * p.length;
  const bool casts = cpu_element_size(p) != size_of(p.in);
  return elements * size_of(p.in) / 64 + (casts ? elements * 2 : elements / 24) + p.outputs;
}

}  // namespace

Plan make_cpu_plan(const Problem& p, const DeviceTraits& device) {
  Plan plan;
  plan.engine = is_rows(p) ? Engine::kCpuRow : Engine::kCpuColumn;
  const int64_t useful = nanoseconds(p) / kLeastNanosecondsAThread;
  plan.threads = int(std::clamp<int64_t>(useful, 1, std::max(device.threads, 1)));
  plan.parts = 1;
  if (plan.threads == 1) return plan;
  // Rows are tasks one by one; columns are tasks in strips of up to 512.
  const int64_t columns = p.kept.count && p.kept.axis[0].in == 1 ? p.kept.axis[0].size : 1;
  const int64_t tasks = is_rows(p) ? p.outputs : p.outputs / columns * ceil_div(columns, 512);
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
