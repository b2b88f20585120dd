// Operators that torch composes for every device, and that need more than that on this one.
#include <ATen/native/BinaryOps.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/UnaryOps.h>
#include <c10/core/DispatchKey.h>

#include <array>

#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/ops/in_place/boxed_kernel.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// True if a vendor's library has set the entry for PrivateUse1 of one of torch's dispatch stubs.
template <auto& stub>
bool has_entry() {
  return stub.is_device_supported(c10::kPrivateUse1);
}

// Operators that torch composes for every device, though the composed form fails, checks less or
// gives other results on a device that torch does not know. With an entry in the operator's stub it
// works. It also does if a vendor has a kernel for the out= variant of `out`, the operator that
// takes the stub's place in the composed form; null if that form has none.
struct choosy_operator {
  const char* name;
  const char* overload;
  bool (*has_entry)();
  const char* out;
};

// Until torch 2.12 ldexp calls its stub on every device. Since 2.13 a device without an entry gets
// x * 2 ** y, whose second factor overflows where ldexp(x, y) does not.
constexpr const char* in_place_of_ldexp = OUTBACK_TORCH_AT_LEAST(2, 13) ? "mul" : nullptr;

constexpr std::array<choosy_operator, 5> choosy_operators{{
    {"addr_", "", nullptr, "addr"},
    {"conj_physical_", "", &has_entry<at::native::conj_physical_stub>, "conj_physical"},
    {"ldexp", "Tensor", &has_entry<at::native::ldexp_stub>, in_place_of_ldexp},
    {"ldexp", "out", &has_entry<at::native::ldexp_stub>, in_place_of_ldexp},
    {"mode", "values", &has_entry<at::native::mode_stub>, nullptr},
}};

// A portable kernel does not count: it declines the calls that it does not serve.
bool has_kernel_for_out(const choosy_operator& choosy) {
  if (choosy.out == nullptr) return false;
  const auto out = registrar::find(choosy.out, "out");
  return out && out->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1) &&
         !registrar::serves(*out);
}

bool works_composed(const choosy_operator& choosy) {
  return (choosy.has_entry != nullptr && choosy.has_entry()) || has_kernel_for_out(choosy);
}

}  // namespace

void register_choosy_operators(registrar& to) {
  for (const choosy_operator& choosy : choosy_operators) {
    const auto op = registrar::find(choosy.name, choosy.overload);
    if (op && !works_composed(choosy)) {
      to.add_boxed(*op, c10::DispatchKey::PrivateUse1, boxed_kernel(c10::DispatchKey::Dense));
    }
  }
}

}  // namespace outback::ops
