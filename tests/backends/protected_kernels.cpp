// acme for OUTBACK_HOST_PROTECTED=1: a fault in device memory is reported with the operator's name.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/record_function.h>
#include <outback/kernels/module.h>
#include <outback/kernels/packed.h>
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

// By a kernel in the dialect that the build has packed into this module.
at::Tensor scale_packed(const at::Tensor& in, double factor) {
  const at::Tensor out = at::empty_like(in);
  const auto [handle, items] = outback::kernels::find_packed(in.device(), "packed", "scale");
  outback::kernels::kernel_stream stream(in.device());
  outback::kernels::launch(stream, handle, {{4, 1, 1}, {items, 1, 1}}, int32_t(in.numel()),
                           float(factor), out, in);
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(outback_test, library) {
  library.def("peek(Tensor tensor) -> int");
  library.def("scale_packed(Tensor tensor, float factor) -> Tensor");
}
TORCH_LIBRARY_IMPL(outback_test, PrivateUse1, library) {
  library.impl("peek", &peek);
  library.impl("scale_packed", &scale_packed);
}

namespace {

// While this library is loaded.
[[maybe_unused]] const bool is_set = [] {
  at::addGlobalCallback(
      at::RecordFunctionCallback(&enter, &leave).scopes({at::RecordScope::FUNCTION}));
  outback_host_runtime_describe_caller(&describe);
  return true;
}();

}  // namespace
