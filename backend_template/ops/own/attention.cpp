// Chooses the kernel that serves scaled_dot_product_attention: as the CPU does, or as the device's
// twin does.
//
// The choice depends on sizes, strides, dtypes and requires_grad, and on no element. So it is made
// on the tensors as they are, without lending: while a program is traced they are fake tensors or
// functorch's wrappers, which have no memory.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_ops.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <c10/core/DispatchKey.h>

#include <optional>
#include <vector>

#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using choice = at::_ops::_fused_sdp_choice;
using flash = at::_ops::_scaled_dot_product_flash_attention;

// True if the vendor has a kernel for the operator that PyTorch reserves for a backend's attention.
// Asks on each call, since a vendor's library may be loaded after the registration.
bool has_fused_attention() {
  static const std::optional<c10::OperatorHandle> fused =
      registrar::find("_scaled_dot_product_fused_attention_overrideable", "");
  return fused && fused->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1);
}

const kernel_target& twin_of(const at::Tensor& tensor) {
  return target_of(tensor.device().index());
}

// Returns the vendor's attention if there is one, else what the twin or the CPU would choose, since
// their kernels run then.
int64_t sdp_choice(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   const std::optional<at::Tensor>& mask, double dropout_p, bool is_causal,
                   std::optional<double> scale, bool enable_gqa) {
  const bool is_dense = !query.is_nested() && !key.is_nested() && !value.is_nested();
  if (is_dense && has_fused_attention() && at::globalContext().userEnabledOverrideableSDP()) {
    return static_cast<int64_t>(sdp::SDPBackend::overrideable);
  }
  if (C10_UNLIKELY(has_twin(query)) && has_kernel<choice>(twin_of(query))) {
    const kernel_target& twin = twin_of(query);
    const auto there = [&twin](const at::Tensor& tensor) { return make_shape_alias(twin, tensor); };
    const auto layout =
        query.is_nested() ? c10::DispatchKey::NestedTensor : c10::DispatchKey::Dense;
    return choice::redispatch(c10::DispatchKeySet(twin.key(layout)), there(query), there(key),
                              there(value), mask ? std::optional(there(*mask)) : std::nullopt,
                              dropout_p, is_causal, scale, enable_gqa);
  }
  return at::native::_fused_sdp_choice_stub(c10::kCPU, query, key, value, mask, dropout_p,
                                            is_causal, scale, enable_gqa);
}

// As torch pads the heads of CUDA's flash attention.
at::Tensor padded(const at::Tensor& tensor) {
  constexpr int64_t alignment = 8;  // elements
  const c10::SymInt rest = tensor.sym_size(-1) % alignment;
  if (rest == 0) return tensor;
  return at::pad_symint(tensor, std::vector<c10::SymInt>{0, alignment - rest});
}

// torch asks for the type of the device to tell the flash attention of accelerators from the CPU's,
// and takes this device for a CPU. All other attentions are chosen without such a question.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask, double dropout_p, bool is_causal,
                     std::optional<double> scale, bool enable_gqa) {
  const bool is_flash =
      has_twin(query) && has_kernel<flash>(twin_of(query)) &&
      sdp_choice(query, key, value, mask, dropout_p, is_causal, scale, enable_gqa) ==
          static_cast<int64_t>(sdp::SDPBackend::flash_attention);
  if (!is_flash) {
    return at::native::scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal,
                                                    scale, enable_gqa);
  }
  if (query.dim() == 3) {  // torch 2.15 chooses flash attention for one batch without its dimension
    return attention(query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0), mask, dropout_p,
                     is_causal, scale, enable_gqa)
        .squeeze(0);
  }
  const c10::SymInt size = query.sym_size(-1);
  const double unpadded_scale = sdp::calculate_scale(query, scale).guard_float(__FILE__, __LINE__);
  at::Tensor result =
      std::get<0>(flash::call(padded(query), padded(key), padded(value), dropout_p, is_causal,
                              /*return_debug_mask=*/false, unpadded_scale));
  if (!result.is_nested() && result.sym_size(-1) != size) {
    result = result.slice_symint(-1, 0, size);
  }
  return result;
}

}  // namespace

void register_attention(registrar& to) {
  fill_stub<at::native::_fused_sdp_choice_stub>(&sdp_choice);
  to.add<&sdp_choice>("_fused_sdp_choice");
  if (twin_targets().empty()) return;
  to.add<&attention>("scaled_dot_product_attention", "", c10::DispatchKey::AutogradPrivateUse1);
  to.add<&attention>("scaled_dot_product_attention");
  // The key of all nested tensors, whose device `attention` asks for.
  to.add<&attention>("scaled_dot_product_attention", "", c10::DispatchKey::AutogradNestedTensor);
}

}  // namespace outback::ops
