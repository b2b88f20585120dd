// What a call through the table costs over calling the same member of a class.
#include <benchmark/benchmark.h>

#include <cstring>

#include "outback/runtime.hpp"

namespace {

// Does nothing, where no compiler can see it.
class idle_runtime {
 public:
  int32_t device_count() { return 1; }
  outback_device_info device_info(int32_t) { return {}; }
  [[gnu::noinline]] void device_sync(int32_t device) { benchmark::DoNotOptimize(device); }
  void* mem_alloc(int32_t, size_t) { return nullptr; }
  void mem_free(int32_t, void*) {}
  [[gnu::noinline]] void mem_copy(void* dst, int32_t, const void* src, int32_t, size_t size,
                                  outback_stream) {
    benchmark::DoNotOptimize(dst);
    benchmark::DoNotOptimize(src);
    benchmark::DoNotOptimize(size);
  }
  void mem_fill(int32_t, void*, size_t, const void*, size_t, outback_stream) {}
};

idle_runtime& object() {
  static idle_runtime it;
  return it;
}

const outback_runtime& table() {
  static const outback_runtime* it = outback::table_of(object());
  benchmark::DoNotOptimize(it);  // so that no call is resolved beforehand
  return *it;
}

void sync_of_the_class(benchmark::State& state) {
  idle_runtime& runtime = object();
  for (auto _ : state) runtime.device_sync(0);
}
BENCHMARK(sync_of_the_class);

void sync_of_the_table(benchmark::State& state) {
  const outback_runtime& runtime = table();
  for (auto _ : state) benchmark::DoNotOptimize(runtime.device_sync(runtime.self, 0));
}
BENCHMARK(sync_of_the_table);

void copy_of_the_class(benchmark::State& state) {
  idle_runtime& runtime = object();
  char byte = 0;
  for (auto _ : state) runtime.mem_copy(&byte, 0, &byte, 0, 1, nullptr);
}
BENCHMARK(copy_of_the_class);

void copy_of_the_table(benchmark::State& state) {
  const outback_runtime& runtime = table();
  char byte = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(runtime.mem_copy(runtime.self, &byte, 0, &byte, 0, 1, nullptr));
  }
}
BENCHMARK(copy_of_the_table);

}  // namespace
