// The OpenCL runtime's launch beside the same calls to the same driver: what the table, the checks
// and the queue's list of commands add. The driver is the first that the loader lists.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backend_template/runtimes/opencl/driver_api.hpp"
#include "backend_template/runtimes/opencl/opencl.h"
#include "backend_template/runtimes/opencl/pointer_memory.hpp"

namespace {

constexpr char kernel_text[] =
    "kernel void nothing(global float* a, global float* b, uint c, float d) {}";
constexpr std::size_t launches = 100, memory_size = 4096;

const outback_runtime& table() {
  static const outback_runtime& runtime = *outback_opencl_runtime();
  return runtime;
}
void* self() {
  return table().self;
}
void check(outback_status status) {
  if (status == OUTBACK_OK) return;
  std::fprintf(stderr, "%s\n", table().last_error(self()));
  std::abort();
}

struct numbers {
  uint32_t c = 7;
  float d = 0.5f;
};

void launch_100_and_wait_by_runtime(benchmark::State& state) {
  outback_module module = nullptr;
  outback_kernel kernel = nullptr;
  outback_stream stream = nullptr;
  void* memory = nullptr;
  check(table().kernels->module_load(self(), 0, OUTBACK_FORMAT_OPENCL_C, kernel_text,
                                     sizeof(kernel_text) - 1, &module));
  check(table().kernels->kernel(self(), 0, module, "nothing", &kernel));
  check(table().streams->create(self(), 0, 0, &stream));
  check(table().mem_alloc(self(), 0, memory_size, &memory));
  const numbers given;
  const outback_argument arguments[] = {{&memory, sizeof(memory), 1},
                                        {&memory, sizeof(memory), 1},
                                        {&given.c, sizeof(given.c), 0},
                                        {&given.d, sizeof(given.d), 0}};
  const outback_launch how = {.struct_size = sizeof(how),
                              .argument_count = 4,
                              .arguments = arguments,
                              .groups = {1, 1, 1},
                              .items = {32, 1, 1},
                              .local_size = 0};
  for (auto _ : state) {
    for (std::size_t i = 0; i < launches; ++i) {
      check(table().kernels->launch(self(), 0, kernel, &how, stream));
    }
    check(table().streams->sync(self(), 0, stream));
  }
  check(table().streams->destroy(self(), 0, stream));
  check(table().mem_free(self(), 0, memory));
  check(table().kernels->module_unload(self(), 0, module));
}
BENCHMARK(launch_100_and_wait_by_runtime)->UseRealTime();

void check_cl(cl_int result) {
  if (result == CL_SUCCESS) return;
  std::fprintf(stderr, "the driver answers %d\n", int(result));
  std::abort();
}

// What a caller does who wants to hear of each launch's failure: each launch has an event, and is
// submitted at once.
void launch_100_and_wait_by_driver(benchmark::State& state) {
  using namespace outback::opencl;
  driver_api api;
  const char* const named = std::getenv("OUTBACK_OPENCL_LOADER");
  if (!load(named != nullptr ? named : "libOpenCL.so.1", api).empty()) std::abort();
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  check_cl(api.clGetPlatformIDs(1, &platform, nullptr));
  check_cl(api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
  const auto memory_of = pointer_memory::of(api, platform, device);
  if (!memory_of) return state.SkipWithError("neither USM nor SVM");
  cl_int result = CL_SUCCESS;
  const cl_context context = api.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &result);
  check_cl(result);
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const cl_command_queue queue =
      api.clCreateCommandQueueWithProperties(context, device, properties, &result);
  check_cl(result);
  const char* text = kernel_text;
  const cl_program program = api.clCreateProgramWithSource(context, 1, &text, nullptr, &result);
  check_cl(result);
  check_cl(api.clBuildProgram(program, 1, &device, nullptr, nullptr, nullptr));
  const cl_kernel kernel = api.clCreateKernel(program, "nothing", &result);
  check_cl(result);
  void* const memory = memory_of->alloc(context, device, memory_size);
  const numbers given;
  constexpr std::size_t all[] = {32, 1, 1}, items[] = {32, 1, 1};
  cl_event events[launches];
  for (auto _ : state) {
    for (cl_event& done : events) {
      memory_of->set_argument(kernel, 0, memory);
      memory_of->set_argument(kernel, 1, memory);
      check_cl(api.clSetKernelArg(kernel, 2, sizeof(given.c), &given.c));
      check_cl(api.clSetKernelArg(kernel, 3, sizeof(given.d), &given.d));
      check_cl(
          api.clEnqueueNDRangeKernel(queue, kernel, 3, nullptr, all, items, 0, nullptr, &done));
      check_cl(api.clFlush(queue));
    }
    check_cl(api.clWaitForEvents(1, &events[launches - 1]));
    for (const cl_event done : events) {
      cl_int status = CL_COMPLETE;
      check_cl(api.clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                                  nullptr));
      check_cl(status);
      check_cl(api.clReleaseEvent(done));
    }
  }
  memory_of->free(context, memory);
  check_cl(api.clReleaseKernel(kernel));
  check_cl(api.clReleaseProgram(program));
  check_cl(api.clReleaseCommandQueue(queue));
}
BENCHMARK(launch_100_and_wait_by_driver)->UseRealTime();

}  // namespace
