#include "backend_template/ops/recording/operator_kind.h"

#include <ATen/core/enum_tag.h>
#include <c10/core/DispatchKey.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

// Operators whose kernels in own/ use no memory, or only call operators that are recorded
// themselves.
constexpr std::array<std::string_view, 28> workless{"aten::empty",
                                                    "aten::empty_strided",
                                                    "aten::_efficientzerotensor",
                                                    "aten::as_strided",
                                                    "aten::view",
                                                    "aten::_reshape_alias",
                                                    "aten::unfold",
                                                    "aten::view_as_real",
                                                    "aten::view_as_complex",
                                                    "aten::resize_",
                                                    "aten::set_",
                                                    "aten::is_set_to",
                                                    "aten::record_stream",
                                                    "aten::index_put_",
                                                    "aten::_has_compatible_shallow_copy_type",
                                                    "aten::native_dropout",
                                                    "aten::batch_norm_stats",
                                                    "aten::batch_norm_gather_stats",
                                                    "aten::batch_norm_gather_stats_with_counts",
                                                    "aten::batch_norm_elemt",
                                                    "aten::batch_norm_backward_reduce",
                                                    "aten::batch_norm_backward_elemt",
                                                    "aten::_thnn_fused_lstm_cell",
                                                    "aten::_thnn_fused_lstm_cell_backward_impl",
                                                    "aten::_thnn_fused_gru_cell",
                                                    "aten::_thnn_fused_gru_cell_backward",
                                                    "aten::grid_sampler",
                                                    "aten::cudnn_is_acceptable"};

bool is_workless(std::string_view name) {
  return std::find(workless.begin(), workless.end(), name) != workless.end();
}

// Losses whose out= variant resizes the result to the input's sizes and back, and warns of it.
// Composed, they would be recorded as that.
constexpr std::array<std::string_view, 2> warn_of_their_result{"aten::mse_loss",
                                                               "aten::smooth_l1_loss"};

// True if torch composes the operator wherever no kernel serves it.
bool is_composed(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

// True if the kernel that the dispatcher calls for this device is one of Outback's, and not one
// that has torch compose the operator.
bool is_served_by_us(const c10::OperatorHandle& op) {
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
    // Such an operator goes to the boxed fallback, which runs its CPU kernel.
    return op.hasKernelForDispatchKey(c10::DispatchKey::CPU) && !is_composed(op);
  }
  return registrar::serves(op) && !is_for_twins_alone(op);
}

}  // namespace

operator_kind kind_of(const c10::OperatorHandle& op) {
  if (is_workless(op.schema().name())) return operator_kind::device;
  if (op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape)) {
    return operator_kind::answers_host;
  }
  return is_served_by_us(op) ? operator_kind::host : operator_kind::device;
}

bool hides_its_kernel(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  if (op.operator_name().overload_name.empty() &&
      std::find(warn_of_their_result.begin(), warn_of_their_result.end(), name) !=
          warn_of_their_result.end())
    return true;
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
    // Those of other tensors: fake ones have Meta's kernels, and a capture may trace a function.
    return is_composed(op) && (op.hasKernelForDispatchKey(c10::DispatchKey::Meta) ||
                               op.hasKernelForDispatchKey(c10::DispatchKey::CPU));
  }
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd)) return true;
  // For the other composite kernels a vendor's kernel counts. Outback's own may stay hidden:
  // composed, the operator allocates its result first and then calls the out= variant, which is
  // recorded without a copy.
  return (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
          op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional)) &&
         !is_served_by_us(op);
}

}  // namespace outback::ops
