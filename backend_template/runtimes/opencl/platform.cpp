#include "backend_template/runtimes/opencl/platform.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "backend_template/runtimes/opencl/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

constexpr const char* what_it_takes =
    ". It takes a driver: Debian's pocl-opencl-icd for the CPU, or the vendor's; OCL_ICD_VENDORS "
    "says where the loader looks for drivers";

// Once main() has returned, the driver's library is torn down even if its threads are still at
// work: PoCL's crash if they are compiling a kernel. So the process ends when the devices have come
// to rest, or after this time.
constexpr std::chrono::seconds longest_wait_at_exit{5};

platform* opened = nullptr;  // the process's one

void await_rest() {
  if (opened->forked()) return;
  const auto end = std::chrono::steady_clock::now() + longest_wait_at_exit;
  // Twice: a queue that waits for another one's work begins its own a moment later.
  for (int at_rest = 0; at_rest < 2 && std::chrono::steady_clock::now() < end; ++at_rest) {
    for (const auto& each : opened->devices()) {
      try {
        if (each->is_at_work()) at_rest = -1;
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void await_rest_at_exit() {
  // Exit handlers run in reverse order, so this one runs before what the driver has registered
  // until now. A few times are enough: a driver that has compiled twice has made all that it keeps.
  // atexit fails only when memory is short; then an exit with work under way may crash.
  static std::atomic<int> times{0};
  if (times.fetch_add(1, std::memory_order_relaxed) < 4) std::atexit(await_rest);
}

platform::platform(const opencl_options& options) {
  problem_ = load(options.loader, api_);
  if (!problem_.empty()) return;
  try {
    list_drivers();
    list_devices(CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR);
    // A driver for the CPU computes what PyTorch computes faster, so it is for tests.
    if (devices_.empty()) list_devices(CL_DEVICE_TYPE_CPU);
  } catch (const runtime_error& error) {
    problem_ = std::string("OpenCL cannot be used: ") + error.what() + what_it_takes;
    devices_.clear();
    return;
  }
  if (!devices_.empty()) {
    opened = this;
    await_rest_at_exit();
    return;
  }
  problem_ = refused_.empty() ? "OpenCL's loader lists no device" : refused_;
  problem_ += what_it_takes;
}

void platform::list_drivers() {
  cl_uint count = 0;
  const cl_int result = api_.clGetPlatformIDs(0, nullptr, &count);
  if (result == CL_PLATFORM_NOT_FOUND_KHR || (result == CL_SUCCESS && count == 0)) return;
  check(result, api_.clGetPlatformIDs.name);
  std::vector<cl_platform_id> all(count);
  call(api_.clGetPlatformIDs, count, all.data(), static_cast<cl_uint*>(nullptr));
  for (const cl_platform_id each : all) {
    drivers_.push_back(std::make_unique<driver>(api_, each));
  }
}

void platform::list_devices(cl_device_type types) {
  for (const auto& of : drivers_) {
    for (const cl_device_id each : of->list(types)) {
      if (const auto memory = pointer_memory::of(api_, of->handle(), each)) {
        of->use(each);
        devices_.push_back(std::make_unique<device>(*of, each, *memory, int32_t(devices_.size())));
        continue;
      }
      refused_ += (refused_.empty() ? "" : "; ") +
                  text_fact(api_.clGetDeviceInfo, CL_DEVICE_NAME, each) +
                  " has neither unified shared memory (cl_intel_unified_shared_memory) nor "
                  "fine-grained shared virtual memory, so that it has no pointers for tensors";
    }
  }
}

}  // namespace outback::opencl
