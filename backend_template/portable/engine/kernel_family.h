// A kernel that is compiled for several types.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "backend_template/portable/engine/kernel_cache.h"
#include "backend_template/portable/engine/number_type.h"

namespace outback::portable {

/// The kernels `<name>_<type>` of the packed modules `<module>_<type>`, one for each type:
///
///   constinit kernel_family softmax("rows", "softmax");
///   const kernels::packed_kernel& kernel = softmax.of(device, number_type::f16);  // softmax_f16
class kernel_family {
 public:
  constexpr kernel_family(const char* module, const char* name) : module_(module), name_(name) {}

  /// Throws what find_kernel throws. Thread-safe. A later call for the same type costs one load.
  const kernels::packed_kernel& of(c10::DeviceIndex device, number_type type) {
    return found_.get(device, static_cast<size_t>(type), [&]() -> const kernels::packed_kernel& {
      const std::string ending = std::string("_") + name_of(type);
      return find_kernel(device, module_ + ending, name_ + ending);
    });
  }

 private:
  const char* module_;
  const char* name_;
  kernel_cache<type_names.size()> found_;
};

}  // namespace outback::portable
