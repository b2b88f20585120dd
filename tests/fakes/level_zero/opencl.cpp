// Executes kernels by an OpenCL driver, opened at run time.
#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/fakes/level_zero/executable.hpp"
#include "tests/fakes/level_zero/spirv_source.hpp"

namespace outback::software_ze {
namespace {

// The few functions of OpenCL that are needed, found at run time: its headers are no need of a
// build. Source: https://github.com/KhronosGroup/OpenCL-Headers, CL/cl.h.
using handle = void*;
enum : uint64_t { device_type_cpu = 1u << 1, out_of_order = 1 };
enum : uint32_t { device_il_version = 0x105B, program_build_log = 0x1183 };
enum : int64_t { queue_properties = 0x1093 };

struct opencl_api {
  int32_t (*clGetPlatformIDs)(uint32_t, handle*, uint32_t*);
  int32_t (*clGetDeviceIDs)(handle, uint64_t, uint32_t, handle*, uint32_t*);
  int32_t (*clGetDeviceInfo)(handle, uint32_t, size_t, void*, size_t*);
  handle (*clCreateContext)(const intptr_t*, uint32_t, const handle*, void*, void*, int32_t*);
  handle (*clCreateCommandQueueWithProperties)(handle, handle, const uint64_t*, int32_t*);
  handle (*clCreateProgramWithIL)(handle, const void*, size_t, int32_t*);
  int32_t (*clBuildProgram)(handle, uint32_t, const handle*, const char*, void*, void*);
  int32_t (*clGetProgramBuildInfo)(handle, handle, uint32_t, size_t, void*, size_t*);
  int32_t (*clReleaseProgram)(handle);
  handle (*clCreateKernel)(handle, const char*, int32_t*);
  int32_t (*clReleaseKernel)(handle);
  int32_t (*clSetKernelArg)(handle, uint32_t, size_t, const void*);
  int32_t (*clSetKernelArgSVMPointer)(handle, uint32_t, const void*);
  int32_t (*clEnqueueNDRangeKernel)(handle, handle, uint32_t, const size_t*, const size_t*,
                                    const size_t*, uint32_t, const handle*, handle*);
  int32_t (*clWaitForEvents)(uint32_t, const handle*);
  int32_t (*clReleaseEvent)(handle);
};

template <class Function>
void find(void* library, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(dlsym(library, name));
  if (!into) throw std::runtime_error(fmt::format("libOpenCL.so.1 has no {}", name));
}

opencl_api load_api() {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  opencl_api api;
#define OUTBACK_CL_FIND(name) find(library, #name, api.name)
  OUTBACK_CL_FIND(clGetPlatformIDs);
  OUTBACK_CL_FIND(clGetDeviceIDs);
  OUTBACK_CL_FIND(clGetDeviceInfo);
  OUTBACK_CL_FIND(clCreateContext);
  OUTBACK_CL_FIND(clCreateCommandQueueWithProperties);
  OUTBACK_CL_FIND(clCreateProgramWithIL);
  OUTBACK_CL_FIND(clBuildProgram);
  OUTBACK_CL_FIND(clGetProgramBuildInfo);
  OUTBACK_CL_FIND(clReleaseProgram);
  OUTBACK_CL_FIND(clCreateKernel);
  OUTBACK_CL_FIND(clReleaseKernel);
  OUTBACK_CL_FIND(clSetKernelArg);
  OUTBACK_CL_FIND(clSetKernelArgSVMPointer);
  OUTBACK_CL_FIND(clEnqueueNDRangeKernel);
  OUTBACK_CL_FIND(clWaitForEvents);
  OUTBACK_CL_FIND(clReleaseEvent);
#undef OUTBACK_CL_FIND
  return api;
}

struct opencl_driver {
  opencl_driver() : api(load_api()), device(find_device()) {
    int32_t error = 0;
    context = api.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    const uint64_t properties[] = {queue_properties, out_of_order, 0};
    if (context) {
      queue = api.clCreateCommandQueueWithProperties(context, device, properties, &error);
    }
    if (!queue) throw std::runtime_error(fmt::format("OpenCL's CPU cannot be used: {}", error));
  }

  handle find_device() const {
    handle platforms[16];
    uint32_t count = 0;
    if (api.clGetPlatformIDs(16, platforms, &count) != 0) count = 0;
    for (uint32_t i = 0; i < count && i < 16; ++i) {
      handle found = nullptr;
      char formats[1024] = "";
      if (api.clGetDeviceIDs(platforms[i], device_type_cpu, 1, &found, nullptr) == 0 &&
          api.clGetDeviceInfo(found, device_il_version, sizeof formats, formats, nullptr) == 0 &&
          std::string_view(formats).find("SPIR-V") != std::string_view::npos) {
        return found;
      }
    }
    throw std::runtime_error(fmt::format(
        "none of {} OpenCL platforms has a CPU that takes SPIR-V (OCL_ICD_VENDORS says which "
        "there are)",
        count));
  }

  const opencl_api api;
  handle device;
  handle context = nullptr, queue = nullptr;
};

opencl_driver& the_driver() {
  static auto& driver = *new opencl_driver;  // leaked: queues may work while the process exits
  return driver;
}

// While a launch runs, the process does not end: OpenCL is taken down by exit handlers, and a
// thread that is inside would crash. Both are sequentially consistent, so one side sees the other.
std::atomic<int> under_way{0};
std::atomic<bool> process_ends{false};

void end_launches() {
  process_ends = true;
  while (under_way != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

class launch_under_way {
 public:
  launch_under_way() { ++under_way; }
  ~launch_under_way() { --under_way; }
  launch_under_way(const launch_under_way&) = delete;
  launch_under_way& operator=(const launch_under_way&) = delete;
};

// Holds its arguments until it is launched.
struct opencl_kernel {
  std::mutex mutex;
  handle kernel = nullptr;
};

class built_program final : public executable {
 public:
  explicit built_program(const std::string& spirv) {
    const opencl_driver& cl = the_driver();
    int32_t error = 0;
    program_ = cl.api.clCreateProgramWithIL(cl.context, spirv.data(), spirv.size(), &error);
    if (!program_) throw std::runtime_error(fmt::format("clCreateProgramWithIL: {}", error));
    error = cl.api.clBuildProgram(program_, 1, &cl.device, "", nullptr, nullptr);
    if (error == 0) return;
    std::string log(1 << 16, '\0');
    size_t size = 0;
    cl.api.clGetProgramBuildInfo(program_, cl.device, program_build_log, log.size(), log.data(),
                                 &size);
    cl.api.clReleaseProgram(program_);
    throw std::runtime_error(fmt::format("{}\nclBuildProgram: {}", log.c_str(), error));
  }
  ~built_program() override {
    const opencl_driver& cl = the_driver();
    for (const auto& [name, each] : kernels_) {
      if (each.kernel) cl.api.clReleaseKernel(each.kernel);
    }
    cl.api.clReleaseProgram(program_);
  }

  std::string run(const prepared_launch& launch) override {
    const launch_under_way counted;
    if (process_ends) return "";  // whoever waits for it does not see its result any more
    const opencl_driver& cl = the_driver();
    handle done = nullptr;
    {
      opencl_kernel& kernel = kernel_of(launch.kernel);
      const std::lock_guard lock(kernel.mutex);
      int32_t error = 0;
      if (!kernel.kernel)
        kernel.kernel = cl.api.clCreateKernel(program_, launch.kernel.c_str(), &error);
      if (!kernel.kernel) return fmt::format("clCreateKernel: {}", error);
      for (uint32_t i = 0; i < launch.arguments.size(); ++i) {
        error = set(kernel.kernel, i, launch.arguments[i]);
        if (error != 0) return fmt::format("argument {}: {}", i, error);
      }
      std::array<std::size_t, 3> global, items;
      for (int i = 0; i < 3; ++i) {
        items[i] = launch.items[i];
        global[i] = launch.groups[i] * items[i];
      }
      error = cl.api.clEnqueueNDRangeKernel(cl.queue, kernel.kernel, 3, nullptr, global.data(),
                                            items.data(), 0, nullptr, &done);
      if (error != 0) return fmt::format("clEnqueueNDRangeKernel: {}", error);
    }
    const int32_t error = cl.api.clWaitForEvents(1, &done);
    cl.api.clReleaseEvent(done);
    return error == 0 ? "" : fmt::format("clWaitForEvents: {}", error);
  }

 private:
  opencl_kernel& kernel_of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return kernels_[name];
  }

  static int32_t set(handle kernel, uint32_t number, const prepared_argument& value) {
    const opencl_api& api = the_driver().api;
    if (const auto* pointer = std::get_if<void*>(&value)) {
      return api.clSetKernelArgSVMPointer(kernel, number, *pointer);
    }
    if (const auto* local = std::get_if<local_memory>(&value)) {
      return api.clSetKernelArg(kernel, number, local->size, nullptr);
    }
    const auto& bytes = std::get<std::vector<std::byte>>(value);
    return api.clSetKernelArg(kernel, number, bytes.size(), bytes.data());
  }

  handle program_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, opencl_kernel> kernels_;
};

}  // namespace

void open_opencl() {
  the_driver();
  // Exit handlers run in reverse order. So this one is registered when OpenCL has registered its
  // own: after a first launch, which loads what nothing needed before.
  const std::string problem =
      build_opencl(spirv_of({{"nothing", {}}}))->run({"nothing", {1, 1, 1}, {1, 1, 1}, {}});
  if (!problem.empty()) throw std::runtime_error(problem);
  std::atexit(end_launches);
}

std::shared_ptr<executable> build_opencl(const std::string& spirv) {
  return std::make_shared<built_program>(spirv);
}

}  // namespace outback::software_ze
