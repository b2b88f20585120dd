// Decides which kernel serves an operator: the vendor's, one of Outback's own, or the CPU's. The
// registrar never replaces a kernel, so what is registered first takes precedence.
#include <c10/core/DispatchKey.h>

#include <array>

#include "backend_template/ops/in_place/boxed_kernel.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// Operators that torch composes for every device, though the composed form fails or checks less on
// a device that torch does not know. `out` is the operator that they are composed of, if a vendor
// may have a kernel for its out= variant: then the composed form works.
struct choosy_operator {
  const char* name;
  const char* overload;
  const char* out;
};
constexpr std::array<choosy_operator, 3> choosy_operators{{
    {"addr_", "", "addr"},
    {"conj_physical_", "", "conj_physical"},
    {"mode", "values", nullptr},
}};

bool has_kernel_for_out(const choosy_operator& choosy) {
  if (choosy.out == nullptr) return false;
  const auto out = registrar::find(choosy.out, "out");
  return out && out->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1);
}

// To be called before all others: until then every out= kernel for this device is the vendor's.
void register_choosy(registrar& to) {
  for (const choosy_operator& choosy : choosy_operators) {
    const auto op = registrar::find(choosy.name, choosy.overload);
    if (op && !has_kernel_for_out(choosy)) {
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
  // in_place/cpu_kernels come before the unboxed kernels, and those before the boxed ones.
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
  register_flash_attention(to);
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
