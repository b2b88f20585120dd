// For operators that have a kernel of Outback, but that a twin serves itself if it can.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/macros/Macros.h>

#include <optional>
#include <utility>

#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace detail {
// Returns true if `tensor` is on a device with a twin that has a kernel of the operator.
template <class Operator>
bool is_served_by_twin(const at::Tensor& tensor) {
  return tensor.defined() && C10_UNLIKELY(has_twin(tensor)) &&
         has_kernel<Operator>(target_of(tensor.device().index()));
}
template <class Operator>
bool is_served_by_twin(const std::optional<at::Tensor>& tensor) {
  return tensor && is_served_by_twin<Operator>(*tensor);
}
template <class Operator, class Other>
bool is_served_by_twin(const Other& /*not a tensor*/) {
  return false;
}
}  // namespace detail

/// `twin_first<at::_ops::histc, &histc>::run` is a kernel for aten::histc on this device: it runs
/// the twin's kernel if the device has a twin with one, else `function`.
template <class Operator, typename Operator::schema* function,
          class Signature = typename Operator::schema>
struct twin_first;

template <class Operator, typename Operator::schema* function, class Result, class... Arguments>
struct twin_first<Operator, function, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    if ((detail::is_served_by_twin<Operator>(arguments) || ...)) {
      return unboxed_kernel<Operator>::run(std::forward<Arguments>(arguments)...);
    }
    return function(std::forward<Arguments>(arguments)...);
  }
};

template <class Operator, typename Operator::schema* function>
void add_twin_first(registrar& to) {
  to.add<Operator, &twin_first<Operator, function>::run>();
}

}  // namespace outback::ops
