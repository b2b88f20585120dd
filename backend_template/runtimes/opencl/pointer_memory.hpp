// Memory that kernels reach by pointers. OpenCL has it in two forms: unified shared memory, an
// extension of Intel's that several drivers have, and shared virtual memory of the fine-grained
// kind.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "backend_template/runtimes/opencl/driver_api.hpp"

namespace outback::opencl {

/// The alignment of every allocation in bytes.
inline constexpr uint32_t memory_alignment = 64;

/// The functions of cl_intel_unified_shared_memory, which a loader does not export.
struct usm_api {
  library_function<decltype(::clDeviceMemAllocINTEL)> alloc{"clDeviceMemAllocINTEL"};
  library_function<decltype(::clHostMemAllocINTEL)> alloc_host{"clHostMemAllocINTEL"};
  library_function<decltype(::clMemFreeINTEL)> free{"clMemFreeINTEL"};
  library_function<decltype(::clEnqueueMemcpyINTEL)> copy{"clEnqueueMemcpyINTEL"};
  library_function<decltype(::clEnqueueMemFillINTEL)> fill{"clEnqueueMemFillINTEL"};
  library_function<decltype(::clSetKernelArgMemPointerINTEL)> set_argument{
      "clSetKernelArgMemPointerINTEL"};
};

/// The calls for one device's memory. Never changes; may be used from any thread. Functions throw
/// like `check` (result.hpp).
class pointer_memory {
 public:
  /// Asks the driver which form the device has: unified shared memory if it has both, nullopt if
  /// neither.
  static std::optional<pointer_memory> of(const driver_api& api, cl_platform_id platform,
                                          cl_device_id device);

  bool is_usm() const noexcept { return bool(usm_.alloc); }

  /// Allocates `size` bytes on the device, at least 1.
  void* alloc(cl_context context, cl_device_id device, std::size_t size) const;
  /// Allocates `size` bytes of host memory that the device reaches, at least 1.
  void* alloc_host(cl_context context, std::size_t size) const;
  void free(cl_context context, void* ptr) const;

  /// Enqueue a copy, or a fill with a pattern of 1, 2, 4 or 8 bytes to whose size `ptr` is aligned.
  /// The driver reads the pattern before the call returns. Either side of a copy may be any host
  /// memory.
  void copy(cl_command_queue queue, void* dst, const void* src, std::size_t size,
            cl_event* done) const;
  void fill(cl_command_queue queue, void* ptr, const void* pattern, std::size_t pattern_size,
            std::size_t size, cl_event* done) const;

  /// Lets a new kernel follow pointers that are no arguments of it, as far as the driver can.
  void allow_indirect(cl_kernel kernel) const;
  /// Makes a pointer the argument number `index` of a kernel. Null is a pointer too.
  void set_argument(cl_kernel kernel, cl_uint index, const void* ptr) const;

 private:
  explicit pointer_memory(const driver_api& api) : api_(&api) {}

  const driver_api* api_;
  usm_api usm_;  // null functions: shared virtual memory
};

/// Returns whether `list`, the driver's list of extensions, has `name`.
bool has_extension(const std::string& list, const std::string& name);

}  // namespace outback::opencl
