// The runtime's table and its errors, for kernels that call slots themselves.
#include "outback/kernels/runtime.h"

#include "backend_template/kernels/services.h"

namespace outback::kernels {

const outback_runtime& runtime() {
  return services().runtime();
}

void check(outback_status status, const char* slot) {
  services().check(status, slot);
}

}  // namespace outback::kernels
