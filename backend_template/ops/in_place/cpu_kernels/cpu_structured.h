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

#include <optional>
#include <type_traits>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/dimension_names.h"
#include "backend_template/ops/in_place/tensor_fields.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/own/factories.h"

namespace outback::ops {

/// `Kernel`, a structured kernel of the CPU, whose result comes from the device's allocator. For
/// kernels with one result. Torch releases with named tensors pass the dimensions' names as one
/// more argument, which is `More`; the tensors here have none.
template <class Kernel, class Method = decltype(&at::impl::MetaBase::set_output_raw_strided)>
class kernel_on_device;

template <class Kernel, class... More>
class kernel_on_device<Kernel,
                       void (at::impl::MetaBase::*)(int64_t, at::IntArrayRef, at::IntArrayRef,
                                                    at::TensorOptions, More...)>
    final : public Kernel {
 public:
  /// Without `output` the kernel makes its result. With `output` it writes there, and the sizes
  /// must be right already: nothing is resized.
  explicit kernel_on_device(const at::Tensor& output = {}) : output_(output) {}

  void set_output_strided(int64_t index, at::IntArrayRef size, at::IntArrayRef stride,
                          at::TensorOptions options, More... more) override {
    set_output_raw_strided(index, size, stride, options, more...);
  }

  void set_output_raw_strided(int64_t index, at::IntArrayRef size, at::IntArrayRef stride,
                              at::TensorOptions options, More... more) override {
    if (!output_.defined()) {
      output_ = new_tensor(size, stride, options.dtype().toScalarType(), options.device(),
                           options.memory_format_opt());
    }
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Kernel>) {
      Kernel::set_output_raw_strided(index, size, stride, options, more...);
    }
  }

  const at::Tensor& maybe_get_output(int64_t /*index*/) override { return output_; }

  at::Tensor& output() { return output_; }

 private:
  at::Tensor output_;
};

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

/// `structured_call<at::native::structured_mm_out_cpu, at::_ops::mm>::run` is a kernel for aten::mm
/// on this device: torch's kernel itself for dense floating-point tensors of one dtype and device,
/// else unboxed_kernel.
template <class Kernel, class Operator, class Signature = typename Operator::schema>
struct structured_call;

template <class Kernel, class Operator, class... Others>
struct structured_call<Kernel, Operator, at::Tensor(const at::Tensor&, Others...)> {
  static at::Tensor run(const at::Tensor& self, Others... others) {
    if (!is_ours(self) || !is_like(self, self) || !(is_like(self, others) && ...) || !ready(self)) {
      return unboxed_kernel<Operator>::run(self, std::forward<Others>(others)...);
    }
    kernel_on_device<Kernel> kernel;
    kernel.meta(self, others...);
    kernel.impl(self, others..., kernel.output());
    return std::move(kernel.output());
  }
};

/// The same for kernels that make their arguments contiguous first, which is an operator: the fast
/// path takes contiguous tensors only.
template <class Kernel, class Operator, class Signature = typename Operator::schema>
struct contiguous_call;

template <class Kernel, class Operator, class... Others>
struct contiguous_call<Kernel, Operator, at::Tensor(const at::Tensor&, Others...)> {
  static at::Tensor run(const at::Tensor& self, Others... others) {
    return is_contiguous(self) && (is_contiguous(others) && ...)
               ? structured_call<Kernel, Operator>::run(self, std::forward<Others>(others)...)
               : unboxed_kernel<Operator>::run(self, std::forward<Others>(others)...);
  }
};

}  // namespace outback::ops
