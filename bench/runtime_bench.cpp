// What the slots of a runtime cost by themselves: the floor below everything that torch adds.
// Times are wall time: a runtime may do its work on other threads.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "outback/runtime.h"

extern "C" const outback_runtime* OUTBACK_BENCH_TABLE(void);

namespace {

const outback_runtime& table() {
  static const outback_runtime& runtime = *OUTBACK_BENCH_TABLE();
  return runtime;
}

void* self() {
  return table().self;
}

void check(outback_status status) {
  if (status != OUTBACK_OK) std::abort();
}

// Device memory for the length of a benchmark.
class Memory {
 public:
  explicit Memory(size_t size) { check(table().mem_alloc(self(), 0, size, &pointer_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { table().mem_free(self(), 0, pointer_); }
  void* get() const { return pointer_; }
  // So that no page is new to what is measured.
  void touch(size_t size) const {
    const char zero = 0;
    check(table().mem_fill(self(), 0, pointer_, size, &zero, sizeof zero, nullptr));
    check(table().device_sync(self(), 0));
  }

 private:
  void* pointer_ = nullptr;
};

void settle() {
  check(table().device_sync(self(), 0));
}

void alloc_and_free(benchmark::State& state) {
  const auto size = size_t(state.range(0));
  for (auto _ : state) {
    void* pointer = nullptr;
    check(table().mem_alloc(self(), 0, size, &pointer));
    check(table().mem_free(self(), 0, pointer));
  }
}
BENCHMARK(alloc_and_free)->Arg(512)->Arg(2 << 20)->Arg(256 << 20)->UseRealTime();

enum class way { to_device, to_host, inside };

// Enqueues and waits each time: what a synchronous copy takes.
void copy(benchmark::State& state, way goes) {
  const auto size = size_t(state.range(0));
  const Memory first(size);
  const Memory second(size);
  std::vector<char> host(size, 'x');
  for (const Memory* memory : {&first, &second}) memory->touch(size);
  void* const to = goes == way::to_host ? host.data() : first.get();
  const void* const from = goes == way::to_device ? host.data() : second.get();
  const int32_t to_device = goes == way::to_host ? OUTBACK_HOST : 0;
  const int32_t from_device = goes == way::to_device ? OUTBACK_HOST : 0;
  for (auto _ : state) {
    check(table().mem_copy(self(), to, to_device, from, from_device, size, nullptr));
    settle();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
#define OUTBACK_COPY_SIZES Arg(64)->Arg(4 << 10)->Arg(1 << 20)->Arg(256 << 20)->UseRealTime
BENCHMARK_CAPTURE(copy, host_to_device, way::to_device)->OUTBACK_COPY_SIZES();
BENCHMARK_CAPTURE(copy, device_to_host, way::to_host)->OUTBACK_COPY_SIZES();
BENCHMARK_CAPTURE(copy, device_to_device, way::inside)->OUTBACK_COPY_SIZES();

// What the copies are compared with.
void memcpy_of_the_host(benchmark::State& state) {
  const auto size = size_t(state.range(0));
  std::vector<char> from(size, 'x'), to(size);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(memcpy_of_the_host)->OUTBACK_COPY_SIZES();
#undef OUTBACK_COPY_SIZES

// Every thread has a stream of its own, and puts short copies there, a hundred at a time.
constexpr size_t short_copy = 64 << 10;

void copies_on_own_streams(benchmark::State& state) {
  const outback_streams* streams = table().streams;
  if (streams == nullptr) return state.SkipWithError("no streams");
  outback_stream stream = nullptr;
  check(streams->create(self(), 0, 0, &stream));
  const Memory to(short_copy), from(short_copy);
  to.touch(short_copy);
  from.touch(short_copy);
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) {
      check(table().mem_copy(self(), to.get(), 0, from.get(), 0, short_copy, stream));
    }
    check(streams->sync(self(), 0, stream));
  }
  check(streams->destroy(self(), 0, stream));
}
BENCHMARK(copies_on_own_streams)->Threads(1)->Threads(8)->UseRealTime();

void memcpys_of_threads(benchmark::State& state) {
  std::vector<char> from(short_copy, 'x'), to(short_copy);
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) {
      std::memcpy(to.data(), from.data(), short_copy);
      benchmark::ClobberMemory();
    }
  }
}
BENCHMARK(memcpys_of_threads)->Threads(1)->Threads(8)->UseRealTime();

void sync_idle_stream(benchmark::State& state) {
  const outback_streams* streams = table().streams;
  if (streams == nullptr) return state.SkipWithError("no streams");
  outback_stream stream = nullptr;
  check(streams->create(self(), 0, 0, &stream));
  for (auto _ : state) check(streams->sync(self(), 0, stream));
  check(streams->destroy(self(), 0, stream));
}
BENCHMARK(sync_idle_stream)->UseRealTime();

void record_event(benchmark::State& state) {
  const outback_events* events = table().events;
  if (events == nullptr) return state.SkipWithError("no events");
  outback_event event = nullptr;
  check(events->create(self(), 0, 0, &event));
  for (auto _ : state) check(events->record(self(), 0, event, nullptr));
  settle();
  check(events->destroy(self(), 0, event));
}
BENCHMARK(record_event)->UseRealTime();

// As many as a queue takes without waiting, and then a wait: launches, and host functions, which
// are the least that a stream can run.
void launch_100_and_wait(benchmark::State& state) {
  const outback_kernels* kernels = table().kernels;
  if (kernels == nullptr) return state.SkipWithError("no kernels");
  const char* const file = std::getenv("OUTBACK_BENCH_HOST_MODULE");
  if (file == nullptr) return state.SkipWithError("no module: OUTBACK_BENCH_HOST_MODULE");
  std::ifstream in(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  outback_module module = nullptr;
  outback_kernel kernel = nullptr;
  check(kernels->module_load(self(), 0, OUTBACK_FORMAT_HOST, bytes.data(), bytes.size(), &module));
  check(kernels->kernel(self(), 0, module, "nothing", &kernel));
  const Memory memory(64);
  void* const pointer = memory.get();
  const uint32_t c = 7;
  const float d = 0.5f;
  const outback_argument arguments[] = {{&pointer, sizeof(pointer), 1},
                                        {&pointer, sizeof(pointer), 1},
                                        {&c, sizeof(c), 0},
                                        {&d, sizeof(d), 0}};
  const outback_launch how = {.struct_size = sizeof(how),
                              .argument_count = 4,
                              .arguments = arguments,
                              .groups = {1, 1, 1},
                              .items = {32, 1, 1},
                              .local_size = 0};
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) check(kernels->launch(self(), 0, kernel, &how, nullptr));
    settle();
  }
  check(kernels->module_unload(self(), 0, module));
}
BENCHMARK(launch_100_and_wait)->UseRealTime();

void call_100_and_wait(benchmark::State& state) {
  const outback_callbacks* callbacks = table().callbacks;
  if (callbacks == nullptr) return state.SkipWithError("no callbacks");
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) {
      check(callbacks->enqueue(self(), 0, [](void*) {}, nullptr, nullptr));
    }
    settle();
  }
}
BENCHMARK(call_100_and_wait)->UseRealTime();

}  // namespace
