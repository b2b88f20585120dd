// Decides which kernel serves an operator: the vendor's, one of Outback's own, or the CPU's. The
// registrar never replaces a kernel, so what is registered first takes precedence.
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

bool has_kernel_for_out(const choosy_operator& choosy) {
  if (choosy.out == nullptr) return false;
  const auto out = registrar::find(choosy.out, "out");
  return out && out->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1);
}

bool works_composed(const choosy_operator& choosy) {
  return (choosy.has_entry != nullptr && choosy.has_entry()) || has_kernel_for_out(choosy);
}

// To be called before all others: until then every out= kernel for this device is the vendor's.
void register_choosy(registrar& to) {
  for (const choosy_operator& choosy : choosy_operators) {
    const auto op = registrar::find(choosy.name, choosy.overload);
    if (op && !works_composed(choosy)) {
      to.add_boxed(*op, c10::DispatchKey::PrivateUse1, boxed_kernel(c10::DispatchKey::Dense));
    }
  }
}

}  // namespace

void register_operators(operator_names excluded) {
  // Leaked, since kernels may run until the process ends. Static, so that leak checkers find them
  // reachable.
  static const auto& kept = *new operator_names(std::move(excluded));
  static auto& to = *new registrar(kept);
  // The order matters in three places: register_choosy comes first (see there), the fast paths of
  // on_pointers come before the unboxed kernels, and those before the boxed ones.
  register_choosy(to);
  to.set_own(true);
  register_factories(to);
  register_fields(to);
  register_resize(to);
  register_copies(to);
  register_lazy_clone(to);
  register_fills(to);
  register_histogram(to);
  register_scalars(to);
  register_sparse_copies(to);
  register_sparse_indices();
  register_convolutions(to);
  register_sync_batch_norm(to);
  register_recurrent_cells(to);
  register_recurrent_layers(to);
  register_cudnn(to);
  register_attention(to);
  register_dropout(to);
  register_masked_assignment(to);
  register_device_numbers(to);
  register_windows(to);
  to.set_own(false);
  register_batch_norm(to);
  register_choices(to);
  register_elementwise(to);
  register_fused_optimizers(to);
  register_images(to);
  register_joining(to);
  register_matrices(to);
  register_normalizations(to);
  register_reductions(to);
  register_common_operators(to);
  register_boxed_kernels(to);
  to.add_fallback(c10::DispatchKey::PrivateUse1, boxed_fallback(kept));
  register_autocast(to);
  register_recorder();
}

}  // namespace outback::ops
