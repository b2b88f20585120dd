#include "outback/kernels/decline.h"

#include "backend_template/kernels/services.h"

namespace outback::kernels::detail {

const c10::KernelFunction& kernel_after_vendors(const c10::OperatorHandle& op) {
  return *services().kernel_after_vendors(op);
}

}  // namespace outback::kernels::detail
