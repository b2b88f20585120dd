// Visits the tensors among the arguments and results on the dispatcher's stack: alone, in a list,
// or in a list with gaps. Only this header knows which of torch's types can hold tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <utility>

namespace outback::ops {
namespace detail {
// Changes the list in place if it has no other owner. Each tensor is moved out of the list during
// its visit, so `visit` may get the only reference.
template <class Element, class Visit>
c10::List<Element> replaced(c10::List<Element> list, Visit visit) {
  if (list.use_count() != 1) list = list.copy();
  for (size_t i = 0; i < list.size(); ++i) list.set(i, visit(list.extract(i)));
  return list;
}
}  // namespace detail

/// Calls `visit(at::Tensor&&)` with each tensor in `value`, undefined ones included, in order. The
/// result of `visit` replaces the tensor. If the list has other owners, replaces it by a new list.
/// Leaves any other value unchanged. If `visit` throws, `value` may be lost.
template <class Visit>
void replace_tensors(c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    value = visit(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    value = detail::replaced(std::move(value).toTensorList(), visit);
  } else if (value.isOptionalTensorList()) {
    value = detail::replaced(
        std::move(value).toOptionalTensorList(), [&visit](std::optional<at::Tensor>&& tensor) {
          return tensor ? std::optional(visit(*std::move(tensor))) : std::nullopt;
        });
  }
}

/// Calls `visit(const at::Tensor&)` with each tensor in `value`, and changes nothing.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  c10::IValue same = value;
  replace_tensors(same, [&visit](at::Tensor tensor) {
    visit(std::as_const(tensor));
    return tensor;
  });
}

}  // namespace outback::ops
