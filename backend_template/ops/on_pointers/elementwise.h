// Elementwise operators in place and without aliases: torch's own structured kernel for the CPU
// runs on the device's tensors.
//
// Such a kernel computes shapes and strides, requests memory for its result, and passes a
// TensorIterator to a dispatch stub. The result comes from the device's allocator, and the stub's
// entry for PrivateUse1 calls the CPU's entry (stubs.h), whose loops use only pointers.
// TensorIterator converts dtypes on the CPU only, so this fast path is for tensors of one
// floating-point dtype. All other calls go through unboxed_kernel, which makes aliases.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/MaybeOwned.h>

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/on_pointers/structured.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {

/// Returns true if the loops may run on `tensor` unchanged, together with `first`: both have the
/// same dtype, `tensor` is on the device of `first` or is a CPU tensor without dimensions, and it
/// has no neg bit, which the loops would ignore.
bool fits(const at::Tensor& first, const at::Tensor& tensor);

inline bool fits(const at::Tensor& first, const at::OptionalTensorRef& tensor) {
  return !tensor.has_value() || is_like(first, *tensor);  // may not even be a CPU scalar
}

template <class Other>
bool fits(const at::Tensor& /*first*/, const Other& /*not a tensor*/) {
  return true;
}

/// Does the same for argument `i` of `op`, which may refuse a CPU tensor.
bool fits_at(named_operator& op, size_t i, const at::Tensor& first, const at::Tensor& tensor);

template <class Other>
bool fits_at(named_operator& /*op*/, size_t /*i*/, const at::Tensor& first,
             const Other& not_a_tensor) {
  return fits(first, not_a_tensor);
}

/// Returns `number`, a wrapped number such as the 1 in `x + 1`, in the dtype of `first`, so that it
/// `fits`. Returns `number` unchanged if the dtype of `first` is not float32 or float64, since the
/// CPU's loops for reduced precision read the original number. Also returns it unchanged if it is a
/// bool or complex, which some operators refuse; such a call then uses aliases.
at::Tensor number_like(const at::Tensor& first, const at::Tensor& number);

/// Returns `other`, or its `number_like` if it is a wrapped number.
c10::MaybeOwned<at::Tensor> adapted(const at::Tensor& first, const at::Tensor& other);

/// Returns an object that dereferences to the kernel's argument for `other`, which is not a tensor:
/// an optional tensor or number in the form that structured kernels take, otherwise the address of
/// `other`.
template <class Other>
decltype(auto) adapted(const at::Tensor& /*first*/, const Other& other) {
  if constexpr (std::is_same_v<Other, std::optional<at::Tensor>>) {
    const bool is_there = other && other->defined();
    return std::optional(is_there ? at::OptionalTensorRef(*other) : at::OptionalTensorRef());
  } else if constexpr (std::is_same_v<Other, std::optional<at::Scalar>>) {
    return std::optional(other ? at::OptionalScalarRef(&*other) : at::OptionalScalarRef());
  } else {
    return &other;
  }
}

/// Returns true if an operator that works in place on `first` need not broadcast or resize for
/// `other`.
bool has_size_of(const at::Tensor& first, const at::Tensor& other);

inline bool has_size_of(const at::Tensor& first, const at::OptionalTensorRef& other) {
  return !other.has_value() || has_size_of(first, *other);
}

template <class Other>
bool has_size_of(const at::Tensor& /*first*/, const Other& /*not a tensor*/) {
  return true;
}

/// `elementwise<at::native::structured_mul_out, at::_ops::mul_Tensor>::run` is a kernel for
/// aten::mul.Tensor on this device: it runs `Kernel` on the tensors themselves if they fit, else
/// unboxed_kernel. The operator makes a new result, or works in place and returns `self`
/// (mul_.Tensor).
template <class Kernel, class Operator, class Signature = typename Operator::schema>
struct elementwise;

template <class Kernel, class Operator, class Result, class Self, class... Others>
struct elementwise<Kernel, Operator, Result(Self, Others...)> {
  static constexpr bool in_place = std::is_reference_v<Result>;

  static Result run(Self self, Others... others) {
    if (is_ours(self) && ready(self)) {
      [[maybe_unused]] at::Tensor result;
      const auto try_with = [&](const auto&... adapted) {
        [[maybe_unused]] size_t i = 0;
        if (!fits(self, self) || !(fits_at(operator_of<Operator>, ++i, self, *adapted) && ...)) {
          return false;
        }
        if constexpr (in_place) {
          if (!(has_size_of(self, *adapted) && ...)) return false;
          kernel_on_written<Kernel> kernel;
          kernel.outputs.tensor = &self;
          kernel.meta(self, *adapted...);
          kernel.impl(self, *adapted..., self);
        } else {
          kernel_on_device<Kernel> kernel;
          kernel.meta(self, *adapted...);
          kernel.impl(self, *adapted..., kernel.outputs.tensors[0]);
          result = std::move(kernel.outputs.tensors[0]);
        }
        return true;
      };
      if (try_with(adapted(self, others)...)) {
        if constexpr (in_place) {
          return self;
        } else {
          return result;
        }
      }
    }
    return unboxed_kernel<Operator>::run(self, std::forward<Others>(others)...);
  }
};

/// Returns true if `argument` is a tensor with the device and the sizes of `out`.
inline bool gives_size_of(const at::Tensor& out, const at::Tensor& argument) {
  return argument.device() == out.device() && argument.sizes() == out.sizes();
}

template <class Other>
bool gives_size_of(const at::Tensor& /*out*/, const Other& /*not a tensor*/) {
  return false;
}

/// Does the same for a variant whose last argument is an out= that needs no resize. torch composes
/// in-place operators of such variants: `x *= 2` is mul.out(2, x, out=x).
template <class Kernel, class Operator, class Signature = typename Operator::schema>
struct elementwise_out;

template <class Kernel, class Operator, class... Arguments>
struct elementwise_out<Kernel, Operator, at::Tensor&(Arguments...)> {
  static at::Tensor& run(Arguments... arguments) {
    const auto all = std::tie(arguments...);
    at::Tensor& out = std::get<sizeof...(Arguments) - 1>(all);
    const bool is_done = is_ours(out) && fits(out, out) && ready(out) &&
                         run_on(out, all, std::make_index_sequence<sizeof...(Arguments) - 1>());
    return is_done ? out : unboxed_kernel<Operator>::run(std::forward<Arguments>(arguments)...);
  }

 private:
  template <class All, size_t... places>
  static bool run_on(at::Tensor& out, const All& all, std::index_sequence<places...> /*inputs*/) {
    if (!(gives_size_of(out, std::get<places>(all)) || ...)) return false;
    const auto try_with = [&](const auto&... adapted) {
      if (!((fits_at(operator_of<Operator>, places, out, *adapted) && has_size_of(out, *adapted)) &&
            ...)) {
        return false;
      }
      kernel_on_written<Kernel> kernel;
      kernel.outputs.tensor = &out;
      kernel.meta(*adapted...);
      kernel.impl(*adapted..., out);
      return true;
    };
    return try_with(adapted(out, std::get<places>(all))...);
  }
};

}  // namespace outback::ops
