// One device: its primary context, its default stream, and whether it is lost. Every slot with a
// device uses this class.
//
// The context is the primary context, which libcudart and torch use too. The device retains the
// context at its first use, and the destructor releases the context. In the process's own runtime
// the destructor never runs, because memory and streams may outlive main().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "backend_template/runtimes/cuda/driver.hpp"
#include "backend_template/runtimes/cuda/errors.hpp"
#include "backend_template/runtimes/cuda/stream.hpp"
#include "backend_template/runtimes/cuda/unloading.hpp"
#include "outback/runtime.hpp"

namespace outback::cuda {

struct compute_capability {
  int major, minor;
};
/// Returns the flags OUTBACK_NO_* for what a device of this capability cannot compute with.
uint32_t missing_arithmetic(const compute_capability& runs);

/// May be used from any thread; takes no lock. All exceptions are outback::runtime_error:
/// outback::device_lost after an error that ended the context, otherwise one with the status for
/// the error.
class device {
 public:
  /// Asks the driver for the device's handle, size and UUID; makes no context. Both tables must
  /// outlive the object.
  device(const cudart& cuda, const driver& driver, int32_t index);
  /// Destroys the default stream and releases the context. The device must not be in use.
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  int32_t index() const noexcept { return index_; }
  CUdevice handle() const noexcept { return handle_; }
  const CUuuid& uuid() const noexcept { return uuid_; }
  std::size_t memory_size() const noexcept { return memory_size_; }
  const cudart& cuda() const noexcept { return cuda_; }
  const cuda::driver& driver() const noexcept { return driver_; }

  // ---- Without a context

  /// Fills the struct that device_info returns with CUDA's answers.
  outback_device_info info();
  /// Asks CUDA for the version of the instructions that the device runs.
  compute_capability capability();
  /// Asks CUDA how many items run in step.
  uint32_t subgroup_size();
  /// Asks CUDA how many bytes of local memory a group may have at most.
  std::size_t local_memory();
  /// Returns the UUID as "GPU-8-4-4-4-12", the way CUDA and NVML write it.
  std::string uuid_text() const;
  /// Asks CUDA for the address on the PCI bus, in lower case as in /sys.
  std::string pci_id();
  /// Returns whether a primary context exists, whether this runtime or other code made it.
  bool active();
  /// Returns whether `context` of this object has succeeded.
  bool has_context() const noexcept { return context_.load(std::memory_order_acquire) != nullptr; }

  // ---- The context and its streams

  /// Returns the primary context. The first call retains the context, and so creates it if
  /// necessary. The device keeps the context.
  CUcontext context();
  /// Returns the stream that a null handle stands for; the first call makes the stream. It is
  /// non-blocking: unlike CUDA's legacy stream, it does not wait for other streams, and other
  /// streams do not wait for it. The context must be current.
  stream& default_stream();
  /// Asks CUDA for the range of stream priorities. The context must be current.
  priority_range priorities();
  /// The streams and modules that decide when the driver may unload a module.
  cuda::unloading& unloading() noexcept { return unloading_; }

  // ---- Errors

  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != nullptr; }
  /// If an error has ended the context, throws outback::device_lost with that error.
  void check_not_lost() const;

  /// Calls a function of libcudart or of the driver and throws if it returns an error. An error
  /// that ends the context makes the device lost for good.
  template <class F, class... Arguments>
  void call(const library_function<F>& function, Arguments... arguments) {
    // The driver and libcudart number errors alike.
    const auto error = static_cast<cudaError_t>(function(arguments...));
    if (error != cudaSuccess) [[unlikely]]
      fail(error, function.name);
  }
  /// Calls cudaStreamQuery or cudaEventQuery. Returns false while work is pending; throws for
  /// errors like `call`.
  template <class F, class Handle>
  bool query(const library_function<F>& function, Handle handle) {
    const cudaError_t error = function(handle);
    if (error == cudaSuccess) return true;
    if (error != cudaErrorNotReady) fail(error, function.name);
    cuda_.cudaGetLastError();
    return false;
  }
  /// Throws for an error that CUDA returned in `call`; `details` follows the text. Clears the
  /// thread's last CUDA error, and makes the device lost if the error ends the context.
  [[noreturn]] void fail(cudaError_t error, const char* call, const std::string& details = "");
  /// Makes the device lost for good and throws outback::device_lost, with `text`. For a loss that a
  /// source other than CUDA reports, such as NVML.
  [[noreturn]] void lose(const std::string& text);

 private:
  int attribute(cudaDeviceAttr which);

  const cudart& cuda_;
  const cuda::driver& driver_;
  const int32_t index_;
  CUdevice handle_ = 0;
  std::size_t memory_size_ = 0;
  CUuuid uuid_ = {};
  std::atomic<CUcontext> context_{nullptr};
  std::atomic<stream*> default_stream_{nullptr};
  cuda::unloading unloading_;
  std::atomic<const std::string*> lost_{nullptr};  // the text; null while the device works
};

}  // namespace outback::cuda
