// Runs torch's own structured CPU kernels in place on the device's tensors, without aliases.
//
// Such a kernel computes shapes and strides, requests memory for its result, and passes pointers to
// its loops. If the CPU can address the device's memory, the loops need only pointers: no alias is
// made and no result is adopted. The caller must know for which arguments a kernel uses only
// pointers. A kernel that also calls an operator, such as copy_ or contiguous, would call the
// device's kernel for it. That kernel may leave work on the stream, for which the CPU kernel would
// not wait.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <c10/macros/Macros.h>

// Includes all of torch's kernels and operators, after the headers that they need and do not
// include.
#include <ATen/NativeFunctions.h>
#include <ATen/Operators.h>

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/tensors/dimension_names.h"
#include "backend_template/ops/tensors/factories.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "outback/kernels/structured_adapter.h"

namespace outback::ops {

// Functions that are only declared here are compiled once, not in each of some 350 kernels.

/// Makes `output`, a structured kernel's result, if it is undefined.
void set_output(at::Tensor& output, at::IntArrayRef size, at::IntArrayRef stride,
                const at::TensorOptions& options);

/// The results of a structured kernel. The device's allocator makes them, unless the kernel writes
/// an existing tensor. An existing tensor must have the right sizes, since it is not resized.
template <size_t count>
struct device_outputs {
  std::array<at::Tensor, count> tensors;

  void set(size_t index, at::IntArrayRef size, at::IntArrayRef stride,
           const at::TensorOptions& options, bool /*exact_strides*/) {
    set_output(tensors[index], size, stride, options);
  }
  const at::Tensor& at(size_t index) const { return tensors[index]; }
};

/// `Kernel`, a structured CPU kernel with `count` results, which it puts into `outputs.tensors`.
template <class Kernel, size_t count = 1>
using kernel_on_device = kernels::detail::with_outputs<Kernel, device_outputs<count>>;

/// The single result of a structured kernel that works in place on an existing tensor. The tensor
/// must have the right sizes, and must outlive this object, which holds no reference.
struct written_output {
  const at::Tensor* tensor = nullptr;

  void set(size_t /*index*/, at::IntArrayRef /*size*/, at::IntArrayRef /*stride*/,
           const at::TensorOptions& /*options*/, bool /*exact_strides*/) const {}
  const at::Tensor& at(size_t /*index*/) const { return *tensor; }
};

/// `Kernel`, which writes its result to `*outputs.tensor`.
template <class Kernel>
using kernel_on_written = kernels::detail::with_outputs<Kernel, written_output>;

/// Returns false if the CPU's kernels do not run on the device of `first` in place. Otherwise waits
/// until the device's current stream is idle, as every CPU kernel must, and returns true. The wait
/// throws c10::Error while the stream is capturing. So call this last, after all other checks.
bool waited_for(const at::Tensor& first);

/// Does the same if `first` has a floating-point dtype; otherwise returns false.
bool ready(const at::Tensor& first);

/// Returns true if torch fills the tensors of `empty` (torch.use_deterministic_algorithms).
/// Functions that call `empty` must check this, since a vendor's kernel may enqueue the fill on the
/// stream after the function has waited for the stream.
bool fills_new_memory();

/// Returns true if a kernel may run on `tensor` unchanged, together with `first`: dense, on the
/// same device, of the same dtype, without a neg bit and without names. Returns true also for an
/// undefined tensor and for an argument that is not a tensor.
bool is_like(const at::Tensor& first, const at::Tensor& tensor);

inline bool is_like(const at::Tensor& first, const std::optional<at::Tensor>& tensor) {
  return !tensor || !tensor->defined() || is_like(first, *tensor);
}

/// For the requested dtype of a result: returns true if no conversion from the dtype of `first` is
/// needed.
inline bool is_like(const at::Tensor& first, const std::optional<c10::ScalarType>& dtype) {
  return !dtype || *dtype == first.scalar_type();
}

template <class Other>
bool is_like(const at::Tensor& /*first*/, const Other& /*not a tensor*/) {
  return true;
}

/// Returns true if `tensor` is contiguous and not also channels-last, as images of one channel may
/// be. Returns true also for an undefined tensor and for an argument that is not a tensor.
bool is_contiguous(const at::Tensor& tensor);

inline bool is_contiguous(const std::optional<at::Tensor>& tensor) {
  return !tensor || !tensor->defined() || is_contiguous(*tensor);
}

template <class Other>
bool is_contiguous(const Other& /*not a tensor*/) {
  return true;
}

/// The rules for the tensors that a CPU function or structured kernel of torch gets unchanged.
struct native_rules {
  bool contiguous = false;  // must be contiguous: the function would call the operator contiguous
  bool indices = false;     // may be indices or masks too
  bool any_dtype = false;   // may be integers or bools: the function converts no dtype itself
  bool to_mask = false;     // the result may be a mask
};

/// Returns true if `tensor` may be an index or a mask for `first`.
bool is_index_of(const at::Tensor& first, const at::Tensor& tensor);

template <class Other>
bool is_index_of(const at::Tensor& /*first*/, const Other& /*not a tensor*/) {
  return false;
}

/// Returns an operator's argument in the form that torch's CPU functions take: a plain number for a
/// symbolic one.
template <class Argument>
decltype(auto) plain_number(Argument& argument) {
  if constexpr (std::is_same_v<Argument, c10::SymInt>) {
    return argument.guard_int(__FILE__, __LINE__);
  } else if constexpr (std::is_same_v<Argument, c10::SymIntArrayRef>) {
    return C10_AS_INTARRAYREF_SLOW(argument);
  } else {
    return argument;
  }
}

/// `native_call<at::_ops::dot, &at::native::dot>::run` is a kernel for aten::dot on this device: it
/// calls torch's CPU function directly for dense floating-point tensors of one dtype and device,
/// else unboxed_kernel. Use it only for functions that make their result by an operator and
/// otherwise use only pointers and filled stubs, and for functions that only call other operators.
template <class Operator, typename Operator::schema* function, native_rules rules = {},
          class Signature = typename Operator::schema>
struct native_call;

template <class Operator, typename Operator::schema* function, native_rules rules, class Result,
          class... Arguments>
struct native_call<Operator, function, rules, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    const at::Tensor* first = nullptr;
    const auto note_first = [&first](const auto& argument) {
      if constexpr (std::is_same_v<decltype(argument), const at::Tensor&>) {
        if (first == nullptr) first = &argument;
      }
    };
    (note_first(arguments), ...);
    const bool runs_on_pointers =
        is_ours(*first) && (fits<Arguments>(*first, arguments) && ...) && !fills_new_memory() &&
        (rules.any_dtype ? !first->is_complex() && waited_for(*first) : ready(*first));
    return runs_on_pointers ? function(std::forward<Arguments>(arguments)...)
                            : unboxed_kernel<Operator>::run(std::forward<Arguments>(arguments)...);
  }

 private:
  template <class Argument>
  static bool fits(const at::Tensor& first, const std::remove_reference_t<Argument>& argument) {
    if (rules.contiguous && !is_contiguous(argument)) return false;
    if (is_like(first, argument)) return true;
    if constexpr (std::is_same_v<Argument, at::Tensor&>) {
      return rules.to_mask && argument.scalar_type() == c10::kBool && is_index_of(first, argument);
    }
    return rules.indices && is_index_of(first, argument);
  }
};

template <class Operator, typename Operator::schema* function, native_rules rules = {}>
void add_native(registrar& to) {
  to.add<Operator, &native_call<Operator, function, rules>::run>();
}

/// Wraps `function`, which takes plain numbers, in a function with the operator's signature.
template <auto* function, class Signature>
struct with_plain_numbers;

template <auto* function, class Result, class... Arguments>
struct with_plain_numbers<function, Result(Arguments...)> {
  static Result run(Arguments... arguments) { return function(plain_number(arguments)...); }
};

template <class Operator, auto* function, native_rules rules = {}>
void add_plain(registrar& to) {
  add_native<Operator, &with_plain_numbers<function, typename Operator::schema>::run, rules>(to);
}

/// Does the same for a structured kernel, which takes an optional tensor by reference.
template <class Argument>
decltype(auto) for_structured(Argument& argument) {
  if constexpr (std::is_same_v<Argument, const std::optional<at::Tensor>>) {
    const bool is_there = argument && argument->defined();
    return is_there ? at::OptionalTensorRef(*argument) : at::OptionalTensorRef();
  } else {
    return plain_number(argument);
  }
}

template <class Result>
inline constexpr size_t count_of = 1;
template <class... Results>
inline constexpr size_t count_of<std::tuple<Results...>> = sizeof...(Results);

/// `structured<at::native::structured_mm_out_cpu, at::_ops::mm::schema>::run` is torch's structured
/// kernel as a function for native_call.
template <class Kernel, class Signature>
struct structured;

template <class Kernel, class Result, class... Arguments>
struct structured<Kernel, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    kernel_on_device<Kernel, count_of<Result>> kernel;
    kernel.meta(for_structured(arguments)...);
    const auto run_on = [&](auto&... results) {
      kernel.impl(for_structured(arguments)..., results...);
      return Result(std::move(results)...);
    };
    return std::apply(run_on, kernel.outputs.tensors);
  }
};

template <class Operator, class Kernel, native_rules rules = {}>
void add_structured(registrar& to) {
  add_native<Operator, &structured<Kernel, typename Operator::schema>::run, rules>(to);
}

}  // namespace outback::ops
