// Fused SGD in half and bfloat16, computed in float32. torch's CPU kernel computes whole vectors of
// such elements but does not store them (seen in 2.12.1 and 2.13, fixed in 2.14.1): it updates only
// the elements after the last whole vector of a parameter.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_to_copy.h>

#include <algorithm>
#include <tuple>

#include "backend_template/ops/in_place/twin_first.h"

namespace outback::ops {

/// `reduced_sgd<Operator, &otherwise>::run` is a kernel for `Operator`, an overload of
/// aten::_fused_sgd_: it runs the operator itself on float32 copies, one parameter at a time, and
/// calls `otherwise` for all other dtypes and on a device whose twin has a kernel.
template <class Operator, typename Operator::schema* otherwise,
          class Signature = typename Operator::schema>
struct reduced_sgd;

template <class Operator, typename Operator::schema* otherwise, class... Others>
struct reduced_sgd<Operator, otherwise,
                   void(at::TensorList, at::TensorList, at::TensorList, Others...)> {
  static void run(at::TensorList self, at::TensorList grads, at::TensorList momenta,
                  Others... others) {
    const bool is_for_float32 = !self.empty() && is_ours(self[0]) && is_reduced(self[0]) &&
                                !detail::is_served_by_twin<Operator>(self[0]) &&
                                fit(self, self[0]) && fit(grads, self[0]) &&
                                fit(momenta, self[0]) && grads.size() == self.size() &&
                                (momenta.empty() || momenta.size() == self.size());
    // `otherwise` refuses arguments that do not fit together, with torch's error texts.
    if (!is_for_float32) return otherwise(self, grads, momenta, others...);
    const at::AutoDispatchBelowADInplaceOrView below;
    constexpr size_t grad_scale = sizeof...(Others) - 2;  // found_inf follows it
    const bool unscales = std::get<grad_scale>(std::tie(others...)).has_value();
    for (size_t i = 0; i < self.size(); ++i) {
      const at::Tensor wide = widened(self[i]);
      const at::Tensor grad = widened(grads[i]);
      const at::Tensor momentum = momenta.empty() ? at::Tensor() : widened(momenta[i]);
      Operator::call(wide, grad, momenta.empty() ? at::TensorList() : at::TensorList(momentum),
                     others...);
      self[i].copy_(wide);
      if (unscales) grads[i].copy_(grad);
      if (!momenta.empty()) momenta[i].copy_(momentum);
    }
  }

 private:
  static bool is_reduced(const at::Tensor& tensor) {
    return tensor.scalar_type() == c10::kHalf || tensor.scalar_type() == c10::kBFloat16;
  }

  static bool fit(at::TensorList list, const at::Tensor& first) {
    return std::all_of(list.begin(), list.end(), [&](const at::Tensor& tensor) {
      return tensor.defined() && tensor.device() == first.device() &&
             tensor.scalar_type() == first.scalar_type();
    });
  }

  // Returns a contiguous copy, since the kernels take elements in memory order.
  static at::Tensor widened(const at::Tensor& tensor) {
    return at::_to_copy(tensor, tensor.options().dtype(c10::kFloat), /*non_blocking=*/false,
                        at::MemoryFormat::Contiguous);
  }
};

}  // namespace outback::ops
