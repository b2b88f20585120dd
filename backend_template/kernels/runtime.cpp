#include "outback/kernels/runtime.h"

#include "backend_template/core/runtime.h"

namespace outback::kernels {

const outback_runtime& runtime() noexcept {
  return core::runtime();
}

void check(outback_status status, const char* slot) {
  core::check(status, slot);
}

}  // namespace outback::kernels
