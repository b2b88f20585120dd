// A kernel that moves elements, and is compiled for each size of an element.
#pragma once

#include <c10/core/Device.h>

#include <array>
#include <bit>
#include <string>

#include "backend_template/portable/engine/kernel_cache.h"

namespace outback::portable {

/// The kernels `<name>_<type>` of the packed modules `<module>_<type>`, one for each size:
///
///   constinit size_family take("move", "take");
///   const kernels::packed_kernel& kernel = take.of(device, 4);  // take_u32
class size_family {
 public:
  constexpr size_family(const char* module, const char* name) : module_(module), name_(name) {}

  /// `size` is 1, 2, 4 or 8 bytes. Throws what find_kernel throws. Thread-safe. A later call for
  /// the same size costs one load.
  const kernels::packed_kernel& of(c10::DeviceIndex device, int64_t size) {
    const auto which = static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(size)));
    return found_.get(device, which, [&]() -> const kernels::packed_kernel& {
      constexpr std::array endings{"_u8", "_u16", "_u32", "_u64"};
      return find_kernel(device, module_ + std::string(endings.at(which)),
                         name_ + std::string(endings.at(which)));
    });
  }

 private:
  const char* module_;
  const char* name_;
  kernel_cache<4> found_;
};

}  // namespace outback::portable
