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

#include "backend_template/core/device.h"
#include "backend_template/core/stream.h"
#include "backend_template/ops/native/factories.h"
#include "backend_template/ops/redispatch/tensor_fields.h"
#include "backend_template/ops/redispatch/unboxed_kernel.h"

namespace outback::ops {

/// `Kernel` with results of ours. Older releases pass names as well: that is `More`.
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
    Kernel::set_output_raw_strided(index, size, stride, options, more...);
  }

  const at::Tensor& maybe_get_output(int64_t /*index*/) override { return output_; }

  at::Tensor& output() { return output_; }

 private:
  at::Tensor output_;
};

/// True when the loops may run on `tensor` as it is, next to `first`: one of ours, or a CPU scalar.
inline bool fits(const at::Tensor& first, const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return is_plain(impl) && !tensor.is_neg() && impl.dtype() == first.dtype() &&
         (impl.device() == first.device() || (impl.is_cpu() && impl.dim() == 0));
}

template <class Other>
bool fits(const at::Tensor& /*first*/, const Other& /*not a tensor*/) {
  return true;
}

/// The number in `x + 1`, with the dtype that it would be converted to. Reduced precision is left
/// alone: there the CPU's loops look at the number itself.
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

/// The device's part of it, and the wait that every CPU kernel needs.
inline bool ready(const at::Tensor& first) {
  if (!c10::isFloatingType(first.scalar_type())) return false;
  const c10::DeviceIndex index = first.device().index();
  if (!core::is_host_addressable(index)) return false;
  core::drain(index);
  return true;
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

/// An entry for a dispatch stub that runs the CPU's.
template <auto& stub, class Function = typename std::remove_reference_t<decltype(stub)>::FnPtr>
struct through_cpu;

template <auto& stub, class... Arguments>
struct through_cpu<stub, void (*)(Arguments...)> {
  static void run(Arguments... arguments) {
    stub(c10::kCPU, std::forward<Arguments>(arguments)...);
  }
};

}  // namespace outback::ops
