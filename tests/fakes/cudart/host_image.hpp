// Modules that were compiled for the host: shared objects with kernels as outback/host_kernel.h
// describes them. No driver of NVIDIA's loads such an image; here it is what a cubin would be, so
// that launches compute.
#pragma once

#include <cstddef>
#include <memory>

#include "outback/host_kernel.h"
#include "tests/fakes/cudart/kernels.hpp"

namespace fake_cuda {

class host_image {
 public:
  /// Whether it is an ELF shared object for this processor.
  static bool is_one(const void* image);
  /// Loads a copy. Throws a refusal where the system's loader does not take it.
  explicit host_image(const void* image);
  ~host_image();
  host_image(const host_image&) = delete;
  host_image& operator=(const host_image&) = delete;

  /// Null where it has none of that name.
  const outback_host_kernel* find(const char* name) const;

 private:
  int file_ = -1;  // open as long as the image is loaded: the loader knows files by their paths
  void* handle_ = nullptr;
};

/// What the kernel does, for all of its blocks. Keeps the image. A kernel that faults loses the
/// device, as cudaErrorLaunchFailure does.
kernel_body body_of(std::shared_ptr<const host_image> image, const outback_host_kernel& of,
                    std::vector<parameter> placed);

}  // namespace fake_cuda
