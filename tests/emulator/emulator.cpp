#include "cuda_on_cpu.h"

#include <setjmp.h>
#include <ucontext.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/launch.h"
#include "plan/plan.h"

namespace reduce_ops::cuda {

// The kernels' dynamic shared memory, by the names they declare. All the same in a launch of one.
constexpr size_t kSharedBytes = 99 << 10;  // the least that a GPU since 8.0 can give
constexpr size_t kGuardBytes = 4096;
alignas(16) char storage[kSharedBytes + kGuardBytes];
alignas(16) char tile[kSharedBytes + kGuardBytes];

}  // namespace reduce_ops::cuda

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {

namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr unsigned kMaxThreads = 1024;
constexpr char kPoison = 0x5a;

struct Gathering {  // of threads at a barrier
  unsigned arrived = 0;
  unsigned generation = 0;
};

struct Fiber {
  std::unique_ptr<char[]> stack;
  ucontext_t start;
  jmp_buf at;
  bool started, done;
};

Fiber fibers[kMaxThreads];
jmp_buf scheduler;
const std::function<void()>* body;
unsigned alive;
Gathering block;
Gathering warp[kMaxThreads / 32];
uint32_t shuffled[kMaxThreads];
unsigned alive_in_warp[kMaxThreads / 32];
uint64_t steps;  // barriers passed and threads ended: what shows that the block moves on

void fiber_main() {
  (*body)();
  fibers[threadIdx.x].done = true;
  _longjmp(scheduler, 1);
}

void yield() {
  const unsigned self = threadIdx.x;
  if (!_setjmp(fibers[self].at)) _longjmp(scheduler, 1);
}

void gather(Gathering& at, unsigned count) {
  const unsigned generation = at.generation;
  if (++at.arrived == count) {
    at.arrived = 0;
    ++at.generation;
    ++steps;
    return;
  }
  while (at.generation == generation) yield();
}

// A thread that ends is no longer waited for.
void leave(Gathering& at, unsigned count) {
  if (at.arrived && at.arrived == count) {
    at.arrived = 0;
    ++at.generation;
  }
}

void resume(unsigned thread) {
  Fiber& fiber = fibers[thread];
  threadIdx.x = thread;
  if (!_setjmp(scheduler)) {
    if (fiber.started) _longjmp(fiber.at, 1);
    fiber.started = true;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = kStackBytes;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, fiber_main, 0);
    setcontext(&fiber.start);
  }
}

void run_block(unsigned threads) {
  alive = threads;
  block = {};
  for (unsigned t = 0; t < threads; ++t) {
    fibers[t].started = fibers[t].done = false;
    if (!fibers[t].stack) fibers[t].stack.reset(new char[kStackBytes]);
  }
  for (unsigned w = 0; w < threads / 32; ++w) {
    warp[w] = {};
    alive_in_warp[w] = 32;
  }
  // Every other round backwards, so that what only works in one order shows.
  for (unsigned round = 0; alive; ++round) {
    const uint64_t before = steps;
    for (unsigned i = 0; i < threads; ++i) {
      const unsigned t = (round + blockIdx.x) % 2 ? threads - 1 - i : i;
      if (fibers[t].done) continue;
      resume(t);
      if (!fibers[t].done) continue;
      ++steps;
      leave(block, --alive);
      leave(warp[t / 32], --alive_in_warp[t / 32]);
    }
    if (steps == before) throw std::runtime_error("the threads of a block wait for each other");
  }
}

}  // namespace

void barrier() { gather(block, alive); }

namespace {

// The value of thread `from` of the same warp.
uint32_t shuffle(uint32_t value, unsigned from) {
  const unsigned self = threadIdx.x;
  Gathering& mine = warp[self / 32];
  if (alive_in_warp[self / 32] != 32) {
    fprintf(stderr, "a shuffle of a warp whose threads have ended in part\n");
    abort();
  }
  shuffled[self] = value;
  gather(mine, 32);
  const uint32_t result = shuffled[from];
  gather(mine, 32);
  return result;
}

}  // namespace

uint32_t shuffle_down(uint32_t value, unsigned distance, int width) {
  const unsigned self = threadIdx.x;
  return shuffle(value, self % width + distance < unsigned(width) ? self + distance : self);
}

uint32_t shuffle_xor(uint32_t value, unsigned mask) { return shuffle(value, threadIdx.x ^ mask); }

cudaError_t run(const cudaLaunchConfig_t& config, const std::function<void()>& thread) {
  using namespace reduce_ops::cuda;
  const unsigned threads = config.blockDim.x;
  if (threads == 0 || threads > kMaxThreads || threads % 32 || config.gridDim.x == 0 ||
      config.dynamicSmemBytes > kSharedBytes)
    return cudaErrorInvalidConfiguration;
  body = &thread;
  blockDim = config.blockDim;
  gridDim = config.gridDim;
  for (unsigned b = 0; b < config.gridDim.x; ++b) {
    blockIdx = {b, 0, 0};
    for (char* shared : {storage, tile}) memset(shared, kPoison, sizeof(storage));
    run_block(threads);
    for (const char* shared : {storage, tile}) {
      for (size_t i = config.dynamicSmemBytes; i < sizeof(storage); ++i) {
        if (shared[i] != kPoison)
          throw std::runtime_error("a kernel wrote past its shared memory, at byte " +
                                   std::to_string(i));
      }
    }
  }
  return cudaSuccess;
}

}  // namespace emulator

// Computes an op as the plan says and returns "", or returns why not. Ops and types are numbers of
// reduce_ops::Op and reduce_ops::DType.
extern "C" const char* emulate(int dims, const int64_t* sizes, const int64_t* strides,
                               const int64_t* out_strides, uint64_t reduced, int op, int in,
                               int cast, double parameter, int out_type, int second_type,
                               const void* data, void* out, void* second, const char* plan_text) {
  using namespace reduce_ops;
  static std::string message;
  try {
    const TensorView view = {dims, sizes, strides, out_strides, reduced};
    Problem problem;
    const Recipe recipe = {Op(op), DType(in), DType(cast), parameter};
    if (!make_problem(view, recipe, DType(out_type), DType(second_type), true,
                      reinterpret_cast<uintptr_t>(data), problem))
      throw std::runtime_error("too many axes");
    const Plan plan = *plan_text ? parse_plan(plan_text) : make_plan(problem, {132, 1});
    message = check_plan(plan, problem);
    if (!message.empty()) {
      message = "cannot compute: " + message;
      return message.c_str();
    }
    if (plan.engine == Engine::kFill) throw std::runtime_error("nothing to launch");
    const size_t bytes = cuda::workspace_bytes(problem, plan);
    std::vector<char> workspace(bytes + 16, char(0x5a));
    const cudaError_t error =
        cuda::run(problem, plan, {data, out, second}, bytes ? workspace.data() : nullptr, nullptr);
    for (size_t i = bytes; i < workspace.size(); ++i) {
      if (workspace[i] != 0x5a) throw std::runtime_error("a kernel wrote past the workspace");
    }
    if (error != cudaSuccess)
      throw std::runtime_error("launch failed with error " + std::to_string(int(error)));
  } catch (const std::exception& error) {
    message = error.what();
    return message.c_str();
  }
  return "";
}
