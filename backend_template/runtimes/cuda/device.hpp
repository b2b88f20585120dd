// One device: its primary context, its default stream, and whether it is lost.
//
// The context is the primary one, which libcudart and torch use too. It is retained when it is
// first needed and released by the destructor, which the process's own runtime never comes to:
// memory and streams may outlive main().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "backend_template/runtimes/cuda/driver.hpp"
#include "backend_template/runtimes/cuda/errors.hpp"
#include "backend_template/runtimes/cuda/stream.hpp"
#include "outback/runtime.hpp"

namespace outback::cuda {

/// May be used from any thread; takes no lock. What throws, throws outback::runtime_error.
class device {
 public:
  /// Both tables must outlive it. Makes no context.
  device(const cudart& cuda, const driver& driver, int32_t index);
  /// Gives back the default stream and the context. Nothing of the device may be left in use.
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

  outback_device_info info();
  /// As "GPU-8-4-4-4-12", the way CUDA and NVML write them.
  std::string uuid_text() const;
  std::string pci_id();
  /// A primary context exists, whoever made it.
  bool active();
  /// The context was made or joined here.
  bool has_context() const noexcept { return context_.load(std::memory_order_acquire) != nullptr; }

  // ---- The context, and what is in it

  CUcontext context();
  /// A stream of ours that does not know the legacy stream, so that it is a stream like any other.
  /// The context must be current.
  stream& default_stream();
  /// The context must be current.
  priority_range priorities();

  // ---- Errors

  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != nullptr; }
  /// Throws outback::device_lost if it is.
  void check_not_lost() const;

  /// Calls a function of libcudart's or of the driver's; throws what its error stands for. One that
  /// ends the context makes the device lost.
  template <class F, class... Arguments>
  void call(const entry<F>& function, Arguments... arguments) {
    const auto error = function(arguments...);
    if (int(error) != 0) [[unlikely]]
      fail(error, function.name);
  }
  /// The same for cudaStreamQuery and cudaEventQuery: false while work is pending.
  template <class F, class Handle>
  bool query(const entry<F>& function, Handle handle) {
    const cudaError_t error = function(handle);
    if (error == cudaSuccess) return true;
    if (error != cudaErrorNotReady) fail(error, function.name);
    cuda_.cudaGetLastError();
    return false;
  }
  [[noreturn]] void fail(cudaError_t error, const char* call, const std::string& details = "");
  [[noreturn]] void fail(CUresult error, const char* call);

 private:
  [[noreturn]] void fail_with(int error, const std::string& text);
  int attribute(cudaDeviceAttr which);

  const cudart& cuda_;
  const cuda::driver& driver_;
  const int32_t index_;
  CUdevice handle_ = 0;
  std::size_t memory_size_ = 0;
  CUuuid uuid_ = {};
  std::atomic<CUcontext> context_{nullptr};
  std::atomic<stream*> default_stream_{nullptr};
  std::atomic<const std::string*> lost_{nullptr};  // why; leaked: it stays lost
};

}  // namespace outback::cuda
