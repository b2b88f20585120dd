// What the device allocator costs: a block that is cached is taken and given back.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/streams/host_callback.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/backend.h"
#include "outback/runtime.hpp"

namespace {

using outback::core::allocate_on;

const outback_runtime* device() {
  static auto& it = *new outback::host::host_runtime(
      outback::host::host_options{.devices = 1, .memory_size = size_t{1} << 30});
  return outback::table_of(it);
}

void start() {
  outback::register_backend({.name = "acme", .runtime = device()});
}

void allocate_and_free(benchmark::State& state) {
  start();
  const auto size = static_cast<size_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(allocate_on(0, size));
}
BENCHMARK(allocate_and_free)->Arg(64)->Arg(1 << 20)->Arg(16 << 20)->UseRealTime();

// Sizes in turn, so that no block is of the size that was freed last.
void allocate_and_free_in_turn(benchmark::State& state) {
  start();
  size_t size = 0;
  for (auto _ : state) {
    size = size % (64 << 10) + 1000;
    benchmark::DoNotOptimize(allocate_on(0, size));
  }
}
BENCHMARK(allocate_and_free_in_turn)->UseRealTime();

// Each thread on a stream of its own. The time is what passes for an allocation of any of them.
void allocate_and_free_on_own_streams(benchmark::State& state) {
  start();
  const c10::Stream before = outback::core::exchange_stream(outback::core::new_stream(0, 0));
  for (auto _ : state) benchmark::DoNotOptimize(allocate_on(0, 4096));
  outback::core::exchange_stream(before);
}
BENCHMARK(allocate_and_free_on_own_streams)->Threads(1)->Threads(2)->UseRealTime();

// While a stream still uses so many blocks that were freed.
void allocate_and_free_beside_pending(benchmark::State& state) {
  start();
  const c10::Stream busy = outback::core::new_stream(0, 0);
  std::atomic<bool> is_over{false};
  outback::core::enqueue_host_callback(busy, [&is_over] { is_over.wait(false); });
  for (int64_t i = 0; i < state.range(0); ++i) {
    const c10::DataPtr used = allocate_on(0, 4096);
    outback::core::device_allocator().recordStream(used, busy);
  }
  for (auto _ : state) benchmark::DoNotOptimize(allocate_on(0, 4096));
  is_over = true;
  is_over.notify_all();
  outback::core::synchronize_stream(busy);
  outback::core::device_allocator().emptyCache();
}
BENCHMARK(allocate_and_free_beside_pending)->Arg(0)->Arg(1000)->Arg(4000)->UseRealTime();

}  // namespace
