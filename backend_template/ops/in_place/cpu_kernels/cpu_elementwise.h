// Elementwise operators without aliases: torch's own structured kernel, run on our tensors.
//
// Such a kernel works out shapes and strides, asks for its result, and hands a TensorIterator to a
// dispatch stub. The result comes from our allocator, and our entry in the stub is the CPU's: its
// loops see nothing but pointers. TensorIterator converts dtypes for the CPU only, so this is for
// one floating-point dtype and no CPU scalars; what does not fit takes the alias.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/MaybeOwned.h>

#include <type_traits>
#include <utility>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/in_place/tensor_fields.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"

namespace outback::ops {

/// True when the loops may run on `tensor` as it is, next to `first`: one of ours, or a CPU scalar.
inline bool fits(const at::Tensor& first, const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return is_plain(impl) && !tensor.is_neg() && !has_names(tensor) &&
         impl.dtype() == first.dtype() &&
         (impl.device() == first.device() || (impl.is_cpu() && impl.dim() == 0));
}

template <class Other>
bool fits(const at::Tensor& /*first*/, const Other& /*not a tensor*/) {
  return true;
}

/// The number in `x + 1`, with the dtype that it would be converted to. Left as they are: numbers
/// for reduced precision, where the CPU's loops look at the number itself, and booleans, which some
/// operators refuse.
at::Tensor number_like(const at::Tensor& first, const at::Tensor& number);

template <class Other>
decltype(auto) adapted(const at::Tensor& first, const Other& other) {
  if constexpr (std::is_same_v<Other, at::Tensor>) {
    const bool is_number = other.unsafeGetTensorImpl()->is_wrapped_number();
    return C10_LIKELY(!is_number) ? c10::MaybeOwned<at::Tensor>::borrowed(other)
                                  : c10::MaybeOwned<at::Tensor>::owned(number_like(first, other));
  } else {
    return &other;
  }
}

template <class Other>
bool has_size_of(const at::Tensor& first, const Other& other) {
  if constexpr (std::is_same_v<Other, at::Tensor>) {
    return other.sizes() == first.sizes() || other.dim() == 0;
  }
  return true;
}

template <class Kernel, class Operator, class Signature = typename Operator::schema>
struct elementwise;

template <class Kernel, class Operator, class... Others>
struct elementwise<Kernel, Operator, at::Tensor(const at::Tensor&, Others...)> {
  static at::Tensor run(const at::Tensor& self, Others... others) {
    if (is_ours(self) && ready(self)) {
      at::Tensor result;
      const auto try_with = [&](const auto&... adapted) {
        if (!fits(self, self) || !(fits(self, *adapted) && ...)) return false;
        kernel_on_device<Kernel> kernel;
        kernel.meta(self, *adapted...);
        kernel.impl(self, *adapted..., kernel.output());
        result = std::move(kernel.output());
        return true;
      };
      if (try_with(adapted(self, others)...)) return result;
    }
    return unboxed_kernel<Operator>::run(self, std::forward<Others>(others)...);
  }
};

template <class Kernel, class Operator, class... Others>
struct elementwise<Kernel, Operator, at::Tensor&(at::Tensor&, Others...)> {
  static at::Tensor& run(at::Tensor& self, Others... others) {
    if (is_ours(self) && ready(self)) {
      const auto try_with = [&](const auto&... adapted) {
        if (!fits(self, self) || !((fits(self, *adapted) && has_size_of(self, *adapted)) && ...)) {
          return false;
        }
        kernel_on_device<Kernel> kernel(self);
        kernel.meta(self, *adapted...);
        kernel.impl(self, *adapted..., self);
        return true;
      };
      if (try_with(adapted(self, others)...)) return self;
    }
    return unboxed_kernel<Operator>::run(self, std::forward<Others>(others)...);
  }
};

}  // namespace outback::ops
