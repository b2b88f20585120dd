// torch's own structured kernels for the CPU, run on our tensors as they are.
//
// Such a kernel works out shapes and strides, asks for its result, and hands pointers to its loops.
// Where the CPU can address the device's memory, pointers are all they need: no alias has to be
// made, no result adopted. Which kernels look at nothing else is for the callers to know, and when:
// a kernel that calls an operator on the way, copy_ or contiguous say, would not wait for the work
// that ours, or the vendor's, leaves on the stream.
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

/// `Kernel` with results of ours. Older releases pass names as well, of tensors without any: that
/// is `More`.
template <class Kernel, class Method = decltype(&at::impl::MetaBase::set_output_raw_strided)>
class kernel_on_device;

template <class Kernel, class... More>
class kernel_on_device<Kernel,
                       void (at::impl::MetaBase::*)(int64_t, at::IntArrayRef, at::IntArrayRef,
                                                    at::TensorOptions, More...)>
    final : public Kernel {
 public:
  /// With an output it works in place, and the sizes must be right already.
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

/// The device's part of it, and the wait that every CPU kernel needs.
inline bool ready(const at::Tensor& first) {
  if (!c10::isFloatingType(first.scalar_type())) return false;
  const c10::DeviceIndex index = first.device().index();
  if (!core::is_host_addressable(index)) return false;
  core::drain(index);
  return true;
}

/// True when loops may run on `tensor` as it is, next to `first`.
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

/// `structured_call<at::native::structured_mm_out_cpu, at::_ops::mm>::run` serves at::mm: by the
/// kernel itself for floating-point tensors of one dtype, else as every operator is served.
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

/// The same for kernels that make their arguments contiguous first.
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
