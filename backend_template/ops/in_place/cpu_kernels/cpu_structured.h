// torch's own structured kernels for the CPU, run in place on the device's tensors as they are.
//
// Such a kernel works out shapes and strides, asks for its result, and hands pointers to its loops.
// Where the CPU addresses the device's memory, pointers are all that the loops need: no alias is
// made and no result is adopted. The caller must know that a kernel uses nothing but pointers, and
// when. A kernel that calls an operator on the way, such as copy_ or contiguous, would call the
// device's kernel for it, which may leave work on the stream, and would not wait for that work.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>

// All of torch's kernels and operators, behind what these headers need and do not include.
#include <ATen/NativeFunctions.h>
#include <ATen/Operators.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/dimension_names.h"
#include "backend_template/ops/in_place/tensor_fields.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/own/factories.h"
#include "backend_template/ops/registrar.h"
#include "outback/kernels/structured_adapter.h"

namespace outback::ops {

/// The one result of a structured kernel: made by the device's allocator, unless the kernel writes
/// a tensor that is there. Its sizes must be right then: nothing is resized.
struct device_output {
  at::Tensor tensor;

  void set(size_t /*index*/, at::IntArrayRef size, at::IntArrayRef stride,
           const at::TensorOptions& options, bool /*exact_strides*/) {
    if (tensor.defined()) return;
    tensor = new_tensor(size, stride, options.dtype().toScalarType(), options.device(),
                        options.memory_format_opt());
  }
  const at::Tensor& at(size_t /*index*/) const { return tensor; }
};

/// `Kernel`, a structured kernel of the CPU with one result, which is `outputs.tensor`.
template <class Kernel>
using kernel_on_device = kernels::detail::with_outputs<Kernel, device_output>;

/// True if `first` has a floating-point dtype and the CPU addresses its device's memory. Then it
/// has also waited until the device's current stream is idle, as every CPU kernel must; that throws
/// c10::Error while the stream is capturing. So call it last, when everything else fits.
inline bool ready(const at::Tensor& first) {
  if (!c10::isFloatingType(first.scalar_type())) return false;
  const c10::DeviceIndex index = first.device().index();
  if (!core::is_host_addressable(index)) return false;
  core::drain(index);
  return true;
}

/// True if a kernel may run on `tensor` as it is, together with `first`: dense, on the same device,
/// of the same dtype, without a neg bit and without names. For an argument that is no tensor, and
/// for an undefined one, there is nothing to check.
inline bool is_like(const at::Tensor& first, const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return is_plain(impl) && !tensor.is_neg() && !has_names(tensor) &&
         impl.dtype() == first.dtype() && impl.device() == first.device();
}

inline bool is_like(const at::Tensor& first, const std::optional<at::Tensor>& tensor) {
  return !tensor || !tensor->defined() || is_like(first, *tensor);
}

/// The dtype of a result that is asked for: another one than `first` has would be a conversion.
inline bool is_like(const at::Tensor& first, const std::optional<c10::ScalarType>& dtype) {
  return !dtype || *dtype == first.scalar_type();
}

template <class Other>
bool is_like(const at::Tensor& /*first*/, const Other& /*not a tensor*/) {
  return true;
}

/// True if `tensor` is contiguous, undefined, or an argument that is no tensor.
inline bool is_contiguous(const at::Tensor& tensor) {
  return tensor.is_contiguous();
}

inline bool is_contiguous(const std::optional<at::Tensor>& tensor) {
  return !tensor || !tensor->defined() || tensor->is_contiguous();
}

template <class Other>
bool is_contiguous(const Other& /*not a tensor*/) {
  return true;
}

/// What a function or structured kernel of torch's for the CPU wants of tensors that it gets as
/// they are.
struct native_rules {
  bool contiguous = false;  // it makes them contiguous first, which is an operator
  bool indices = false;     // they may be indices or masks too
};

/// True if `tensor` may be an index or a mask beside `first`.
inline bool is_index_of(const at::Tensor& first, const at::Tensor& tensor) {
  return (tensor.scalar_type() == c10::kLong || tensor.scalar_type() == c10::kBool) &&
         is_like(tensor, tensor) && tensor.device() == first.device();
}

template <class Other>
bool is_index_of(const at::Tensor& /*first*/, const Other& /*not a tensor*/) {
  return false;
}

/// `native_call<at::_ops::dot, &at::native::dot>::run` is a kernel for aten::dot on this device:
/// torch's function for the CPU itself for dense floating-point tensors of one dtype and device,
/// else unboxed_kernel. For functions that make their result by an operator and otherwise use
/// pointers and filled stubs.
template <class Operator, typename Operator::schema* function, native_rules rules = {},
          class Signature = typename Operator::schema>
struct native_call;

template <class Operator, typename Operator::schema* function, native_rules rules, class Result,
          class First, class... Others>
struct native_call<Operator, function, rules, Result(First, Others...)> {
  static Result run(First first, Others... others) {
    const auto fits = [&](const auto& other) {
      return (is_like(first, other) || (rules.indices && is_index_of(first, other))) &&
             (!rules.contiguous || is_contiguous(other));
    };
    return is_ours(first) && fits(first) && (fits(others) && ...) && ready(first)
               ? function(first, std::forward<Others>(others)...)
               : unboxed_kernel<Operator>::run(first, std::forward<Others>(others)...);
  }
};

template <class Operator, typename Operator::schema* function, native_rules rules = {}>
void add_native(registrar& to) {
  to.add<Operator, &native_call<Operator, function, rules>::run>();
}

/// `structured<at::native::structured_mm_out_cpu, at::_ops::mm::schema>::run` is torch's structured
/// kernel as a function for native_call.
template <class Kernel, class Signature>
struct structured;

template <class Kernel, class... Arguments>
struct structured<Kernel, at::Tensor(Arguments...)> {
  static at::Tensor run(Arguments... arguments) {
    kernel_on_device<Kernel> kernel;
    kernel.meta(arguments...);
    kernel.impl(arguments..., kernel.outputs.tensor);
    return std::move(kernel.outputs.tensor);
  }
};

template <class Operator, class Kernel, native_rules rules = {}>
void add_structured(registrar& to) {
  add_native<Operator, &structured<Kernel, typename Operator::schema>::run, rules>(to);
}

}  // namespace outback::ops
