// What the slots of a runtime cost by themselves: the floor below everything that torch adds.
// Times are wall time: a runtime may do its work on other threads.
#include <benchmark/benchmark.h>

#include <cstdlib>
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

// Enqueues and waits each time: what a synchronous copy takes.
void copy(benchmark::State& state, bool from_host) {
  const auto size = size_t(state.range(0));
  const Memory target(size);
  const Memory source(size);
  std::vector<char> host(from_host ? size : 0, 'x');
  const void* from = from_host ? host.data() : source.get();
  const int32_t device = from_host ? OUTBACK_HOST : 0;
  for (auto _ : state) {
    check(table().mem_copy(self(), target.get(), 0, from, device, size, nullptr));
    settle();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(copy, host_to_device, true)->Arg(64)->Arg(1 << 20)->Arg(256 << 20)->UseRealTime();
BENCHMARK_CAPTURE(copy, device_to_device, false)
    ->Arg(64)
    ->Arg(1 << 20)
    ->Arg(256 << 20)
    ->UseRealTime();

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

}  // namespace
