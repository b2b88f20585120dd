// One device: its primary context, its default stream, and whether it is lost. Every slot with a
// device goes through it.
//
// The context is the primary one, which libcudart and torch use too. The device retains it when it
// is first needed, and the destructor releases it; in the process's own runtime the destructor
// never runs, because memory and streams may outlive main().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "backend_template/runtimes/cuda/driver.hpp"
#include "backend_template/runtimes/cuda/errors.hpp"
#include "backend_template/runtimes/cuda/stream.hpp"
#include "outback/runtime.hpp"

namespace outback::cuda {

/// May be used from any thread; takes no lock. Whatever throws, throws outback::runtime_error:
/// outback::device_lost after an error that ended the context, otherwise the status of the error.
class device {
 public:
  /// Asks the driver for the device's handle, size and UUID; makes no context. Both tables must
  /// outlive the object.
  device(const cudart& cuda, const driver& driver, int32_t index);
  /// Destroys the default stream and releases the context. Nothing of the device may be in use.
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

  /// Asks CUDA for the struct that device_info returns.
  outback_device_info info();
  /// Returns the UUID as "GPU-8-4-4-4-12", the way CUDA and NVML write it.
  std::string uuid_text() const;
  /// Asks CUDA for the address on the PCI bus, in lower case as in /sys.
  std::string pci_id();
  /// Whether a primary context exists, whoever made it.
  bool active();
  /// Whether `context` was called here and succeeded.
  bool has_context() const noexcept { return context_.load(std::memory_order_acquire) != nullptr; }

  // ---- The context, and what is in it

  /// Returns the primary context; the first call retains it, which makes it if nobody has. The
  /// device keeps it.
  CUcontext context();
  /// Returns the stream that a null handle stands for; the first call makes it. It is a
  /// non-blocking stream of ours: unlike CUDA's legacy stream it does not wait for others, and they
  /// do not wait for it. The context must be current.
  stream& default_stream();
  /// Asks CUDA for the range of stream priorities. The context must be current.
  priority_range priorities();

  // ---- Errors

  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != nullptr; }
  /// Throws outback::device_lost, with the error that ended the context, if there was one.
  void check_not_lost() const;

  /// Calls a function of libcudart or of the driver and throws if it returns an error. An error
  /// that ends the context makes the device lost for good.
  template <class F, class... Arguments>
  void call(const library_function<F>& function, Arguments... arguments) {
    // The driver's errors have the numbers of libcudart's.
    const auto error = static_cast<cudaError_t>(function(arguments...));
    if (error != cudaSuccess) [[unlikely]]
      fail(error, function.name);
  }
  /// Calls cudaStreamQuery or cudaEventQuery. Returns false while work is pending; throws for
  /// errors as `call` does.
  template <class F, class Handle>
  bool query(const library_function<F>& function, Handle handle) {
    const cudaError_t error = function(handle);
    if (error == cudaSuccess) return true;
    if (error != cudaErrorNotReady) fail(error, function.name);
    cuda_.cudaGetLastError();
    return false;
  }
  /// Throws for an error that CUDA returned in `call`; `details` follows the text. Clears the
  /// thread's last error of CUDA, and makes the device lost where `call` would.
  [[noreturn]] void fail(cudaError_t error, const char* call, const std::string& details = "");
  /// Makes the device lost for good and throws outback::device_lost, with `text`. For those who say
  /// so beside CUDA, such as NVML.
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
  std::atomic<const std::string*> lost_{nullptr};  // the text; null while the device works
};

}  // namespace outback::cuda
