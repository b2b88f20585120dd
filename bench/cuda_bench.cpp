// The CUDA runtime's calls beside the bare ones of the same libcudart and driver: what the table,
// the push and pop of the context and the checks add. Every benchmark has a twin, x/runtime and
// x/cuda.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "backend_template/runtimes/cuda/cuda.h"
#include "backend_template/runtimes/cuda/driver.hpp"
#include "backend_template/runtimes/cuda/library.hpp"

namespace {

using outback::cuda::cudart;

const outback_runtime& table() {
  static const outback_runtime& runtime = *outback_cuda_runtime();
  return runtime;
}
void* self() {
  return table().self;
}
const cudart& cuda() {
  return outback::cuda::loaded_library().functions;
}

const outback::cuda::driver& driver() {
  static const outback::cuda::driver functions = outback::cuda::find_driver(cuda());
  return functions;
}

// A kernel that does nothing, for every device that CUDA 13 drives.
constexpr char module_text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry nothing(.param .u64 a, .param .u64 b, .param .u32 c, .param .f32 d) { ret; "
    "}\n";
struct kernel_arguments {
  void *a = nullptr, *b = nullptr;
  uint32_t c = 0;
  float d = 0;
};

void check(outback_status status) {
  if (status == OUTBACK_OK) return;
  std::fprintf(stderr, "%s\n", table().last_error(self()));
  std::abort();
}
void check(CUresult error) {
  if (error == CUDA_SUCCESS) return;
  std::fprintf(stderr, "the driver answers %d\n", int(error));
  std::abort();
}
void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cuda().cudaGetErrorString(error));
  std::abort();
}

/// The same few things, through the table or not.
struct through_runtime {
  using stream = outback_stream;
  using event = outback_event;
  static constexpr stream default_stream = nullptr;

  static void* alloc(size_t size) {
    void* ptr = nullptr;
    check(table().mem_alloc(self(), 0, size, &ptr));
    return ptr;
  }
  static void free(void* ptr) { check(table().mem_free(self(), 0, ptr)); }
  static void to_device(void* to, const void* from, size_t size, stream s) {
    check(table().mem_copy(self(), to, 0, from, OUTBACK_HOST, size, s));
  }
  static void to_host(void* to, const void* from, size_t size, stream s) {
    check(table().mem_copy(self(), to, OUTBACK_HOST, from, 0, size, s));
  }
  static void inside(void* to, const void* from, size_t size, stream s) {
    check(table().mem_copy(self(), to, 0, from, 0, size, s));
  }
  static void fill(void* to, size_t size, stream s) {
    const char zero = 0;
    check(table().mem_fill(self(), 0, to, size, &zero, 1, s));
  }
  static stream make_stream() {
    stream s = nullptr;
    check(table().streams->create(self(), 0, 0, &s));
    return s;
  }
  static void destroy(stream s) { check(table().streams->destroy(self(), 0, s)); }
  static void sync(stream s) { check(table().streams->sync(self(), 0, s)); }
  static void query(stream s) {
    if (table().streams->query(self(), 0, s) > OUTBACK_NOT_READY) std::abort();
  }
  static event make_event() {
    event e = nullptr;
    check(table().events->create(self(), 0, 0, &e));
    return e;
  }
  static void destroy(event e) { check(table().events->destroy(self(), 0, e)); }
  static void record(event e, stream s) { check(table().events->record(self(), 0, e, s)); }
  static void wait(event e, stream s) { check(table().events->wait(self(), 0, e, s)); }
  static outback_kernel make_kernel() {
    outback_module module = nullptr;
    outback_kernel made = nullptr;
    check(table().kernels->module_load(self(), 0, OUTBACK_FORMAT_PTX, module_text,
                                       sizeof(module_text) - 1, &module));
    check(table().kernels->kernel(self(), 0, module, "nothing", &made));
    return made;
  }
  static void launch(outback_kernel kernel, kernel_arguments& given, stream s) {
    const outback_argument arguments[] = {{&given.a, sizeof(given.a), 1},
                                          {&given.b, sizeof(given.b), 1},
                                          {&given.c, sizeof(given.c), 0},
                                          {&given.d, sizeof(given.d), 0}};
    const outback_launch how = {.struct_size = sizeof(how),
                                .argument_count = 4,
                                .arguments = arguments,
                                .groups = {1, 1, 1},
                                .items = {32, 1, 1},
                                .local_size = 0};
    check(table().kernels->launch(self(), 0, kernel, &how, s));
  }
};

struct through_cuda {
  using stream = cudaStream_t;
  using event = cudaEvent_t;

  static void* alloc(size_t size) {
    void* ptr = nullptr;
    check(cuda().cudaMalloc(&ptr, size));
    return ptr;
  }
  static void free(void* ptr) { check(cuda().cudaFree(ptr)); }
  static void to_device(void* to, const void* from, size_t size, stream s) {
    check(cuda().cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, s));
  }
  static void to_host(void* to, const void* from, size_t size, stream s) {
    check(cuda().cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToHost, s));
  }
  static void inside(void* to, const void* from, size_t size, stream s) {
    check(cuda().cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, s));
  }
  static void fill(void* to, size_t size, stream s) {
    check(cuda().cudaMemsetAsync(to, 0, size, s));
  }
  static stream make_stream() {
    stream s = nullptr;
    check(cuda().cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, 0));
    return s;
  }
  static void destroy(stream s) { check(cuda().cudaStreamDestroy(s)); }
  static void sync(stream s) { check(cuda().cudaStreamSynchronize(s)); }
  static void query(stream s) { benchmark::DoNotOptimize(cuda().cudaStreamQuery(s)); }
  static event make_event() {
    event e = nullptr;
    check(cuda().cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
  }
  static void destroy(event e) { check(cuda().cudaEventDestroy(e)); }
  static void record(event e, stream s) { check(cuda().cudaEventRecord(e, s)); }
  static void wait(event e, stream s) { check(cuda().cudaStreamWaitEvent(s, e, 0)); }
  static CUfunction make_kernel() {
    CUmodule module = nullptr;
    CUfunction made = nullptr;
    check(driver().cuModuleLoadDataEx(&module, module_text, 0, nullptr, nullptr));
    check(driver().cuModuleGetFunction(&made, module, "nothing"));
    return made;
  }
  static void launch(CUfunction kernel, kernel_arguments& given, stream s) {
    void* arguments[] = {&given.a, &given.b, &given.c, &given.d};
    check(driver().cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, s, arguments, nullptr));
  }
};

template <class Way>
void create_and_destroy_stream(benchmark::State& state) {
  for (auto _ : state) Way::destroy(Way::make_stream());
}

template <class Way>
void sync_idle_stream(benchmark::State& state) {
  const auto stream = Way::make_stream();
  for (auto _ : state) Way::sync(stream);
  Way::destroy(stream);
}

template <class Way>
void query_idle_stream(benchmark::State& state) {
  const auto stream = Way::make_stream();
  for (auto _ : state) Way::query(stream);
  Way::destroy(stream);
}

template <class Way>
void create_and_destroy_event(benchmark::State& state) {
  for (auto _ : state) Way::destroy(Way::make_event());
}

template <class Way>
void record_event(benchmark::State& state) {
  const auto stream = Way::make_stream();
  const auto event = Way::make_event();
  for (auto _ : state) Way::record(event, stream);
  Way::sync(stream);
  Way::destroy(event);
  Way::destroy(stream);
}

template <class Way>
void record_and_wait(benchmark::State& state) {
  const auto first = Way::make_stream(), second = Way::make_stream();
  const auto event = Way::make_event();
  for (auto _ : state) {
    Way::record(event, first);
    Way::wait(event, second);
  }
  Way::sync(first);
  Way::sync(second);
  Way::destroy(event);
  Way::destroy(first);
  Way::destroy(second);
}

/// As many as a driver's queue takes without waiting, and then a wait.
template <class Way>
void launch_100_and_wait(benchmark::State& state) {
  const auto stream = Way::make_stream();
  const auto kernel = Way::make_kernel();
  kernel_arguments arguments;
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) Way::launch(kernel, arguments, stream);
    Way::sync(stream);
  }
  Way::destroy(stream);
}

template <class Way>
void alloc_and_free(benchmark::State& state) {
  for (auto _ : state) Way::free(Way::alloc(size_t(state.range(0))));
}

/// What a synchronous copy or fill takes: enqueues and waits each time.
template <class Way, class Work>
void enqueue_and_wait(benchmark::State& state, const Work& work) {
  const auto stream = Way::make_stream();
  for (auto _ : state) {
    work(stream);
    Way::sync(stream);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  Way::destroy(stream);
}

template <class Way>
void fill(benchmark::State& state) {
  const auto size = size_t(state.range(0));
  void* const to = Way::alloc(size);
  enqueue_and_wait<Way>(state, [&](auto stream) { Way::fill(to, size, stream); });
  Way::free(to);
}

template <class Way>
void copy_inside(benchmark::State& state) {
  const auto size = size_t(state.range(0));
  void *const to = Way::alloc(size), *const from = Way::alloc(size);
  Way::fill(from, size, {});
  enqueue_and_wait<Way>(state, [&](auto stream) { Way::inside(to, from, size, stream); });
  Way::free(to);
  Way::free(from);
}

/// Pinned memory is the same for both: CUDA's.
class host_memory {
 public:
  host_memory(size_t size, bool pinned) : pageable_(pinned ? 0 : size), data_(pageable_.data()) {
    if (pinned) check(cuda().cudaHostAlloc(&data_, size, cudaHostAllocPortable));
  }
  ~host_memory() {
    if (pageable_.empty()) check(cuda().cudaFreeHost(data_));
  }
  host_memory(const host_memory&) = delete;
  host_memory& operator=(const host_memory&) = delete;
  void* get() const { return data_; }

 private:
  std::vector<char> pageable_;
  void* data_;
};

template <class Way, bool pinned>
void copy_to_device(benchmark::State& state) {
  const auto size = size_t(state.range(0));
  const host_memory from(size, pinned);
  void* const to = Way::alloc(size);
  enqueue_and_wait<Way>(state, [&](auto stream) { Way::to_device(to, from.get(), size, stream); });
  Way::free(to);
}

template <class Way, bool pinned>
void copy_to_host(benchmark::State& state) {
  const auto size = size_t(state.range(0));
  const host_memory to(size, pinned);
  void* const from = Way::alloc(size);
  Way::fill(from, size, {});
  enqueue_and_wait<Way>(state, [&](auto stream) { Way::to_host(to.get(), from, size, stream); });
  Way::free(from);
}

using benchmark_function = void (*)(benchmark::State&);

void add_pair(const std::string& name, benchmark_function ours, benchmark_function bare,
              const std::vector<int64_t>& sizes = {}) {
  for (const auto& [way, function] : {std::pair{"/runtime", ours}, std::pair{"/cuda", bare}}) {
    auto* const made = benchmark::RegisterBenchmark((name + way).c_str(), function);
    made->UseRealTime();
    for (const int64_t size : sizes) made->Arg(size);
  }
}

#define OUTBACK_PAIR(name, ...) \
  add_pair(#name, name<through_runtime>, name<through_cuda>, ##__VA_ARGS__)
#define OUTBACK_COPY_PAIR(name, text, pinned, sizes) \
  add_pair(text, name<through_runtime, pinned>, name<through_cuda, pinned>, sizes)

void add_all(int64_t largest) {
  const std::vector<int64_t> sizes = {4 << 10, 1 << 20, largest};
  OUTBACK_PAIR(create_and_destroy_stream);
  OUTBACK_PAIR(sync_idle_stream);
  OUTBACK_PAIR(query_idle_stream);
  OUTBACK_PAIR(create_and_destroy_event);
  OUTBACK_PAIR(record_event);
  OUTBACK_PAIR(record_and_wait);
  OUTBACK_PAIR(launch_100_and_wait);
  OUTBACK_PAIR(alloc_and_free, sizes);
  OUTBACK_PAIR(fill, sizes);
  OUTBACK_PAIR(copy_inside, sizes);
  OUTBACK_COPY_PAIR(copy_to_device, "copy_to_device_pinned", true, sizes);
  OUTBACK_COPY_PAIR(copy_to_device, "copy_to_device_pageable", false, sizes);
  OUTBACK_COPY_PAIR(copy_to_host, "copy_to_host_pinned", true, sizes);
  OUTBACK_COPY_PAIR(copy_to_host, "copy_to_host_pageable", false, sizes);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  int32_t count = 0;
  check(table().device_count(self(), &count));
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  if (count == 0 || table().device_info(self(), 0, &info) != OUTBACK_OK) {
    std::fprintf(stderr, "no CUDA device: %s\n", table().last_error(self()));
    return 1;
  }
  check(cuda().cudaSetDevice(0));  // the bare calls rely on it
  int version = 0;
  check(cuda().cudaRuntimeGetVersion(&version));
  benchmark::AddCustomContext("device", info.name);
  benchmark::AddCustomContext(
      "cuda", std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
  // A tenth of a device at most, where it is a small one.
  add_all(std::min<int64_t>(256 << 20, int64_t(info.memory_size / 10)));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
