// acme for OUTBACK_HOST_PROTECTED=1: a fault in device memory is reported with the operator's name.
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <outback/module.h>
#include <torch/library.h>

#include <memory>

#include "backend_template/runtimes/host/host.h"

namespace {

// The innermost operator of this thread. torch keeps the names of operators for ever.
thread_local const char* running = nullptr;

struct caller : at::ObserverContext {
  const char* before = running;
};

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
  auto context = std::make_unique<caller>();
  running = function.name();
  return context;
}

void leave(const at::RecordFunction& /*function*/, at::ObserverContext* context) {
  running = static_cast<caller*>(context)->before;
}

const char* describe() {
  return running;
}

// What no kernel may do: reads device memory as if it were the host's.
int64_t peek(const at::Tensor& tensor) {
  return *static_cast<const volatile uint8_t*>(tensor.const_data_ptr());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(outback_test, library) {
  library.def("peek(Tensor tensor) -> int");
}
TORCH_LIBRARY_IMPL(outback_test, PrivateUse1, library) {
  library.impl("peek", &peek);
}

OUTBACK_MODULE(_C) {
  at::addGlobalCallback(
      at::RecordFunctionCallback(&enter, &leave).scopes({at::RecordScope::FUNCTION}));
  outback_host_runtime_describe_caller(&describe);
  return {
      .name = "acme", .runtime = outback_host_runtime(), .amp_dtypes = {at::kHalf, at::kBFloat16}};
}
