// Structured operators: write a kernel for one of PyTorch's own operators, and let PyTorch check
// the arguments and compute the shapes.
//
// Many of aten's operators are structured: PyTorch has a class for each, such as
// at::meta::structured_mm in <ATen/ops/mm_meta.h>. Its member `meta` checks the arguments and
// computes shape and dtype of the results. Your kernel derives from that class and adds `impl`,
// which does the work on the device:
//
//   struct acme_mm : at::meta::structured_mm {
//     void impl(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out);
//   };
//   TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
//     outback::kernels::impl_structured<acme_mm, at::_ops::mm, at::_ops::mm_out>(m);
//   }
//
// `impl` takes the arguments of `meta`, then the outputs. The outputs have memory on the device and
// need not be contiguous. In a few operators `meta` returns values that it has computed
// (`meta_return_ty`); `impl` takes these values before the arguments. <ATen/ops/mm_native.h> shows
// the signature of PyTorch's own kernels. If the class is a TensorIterator (add, exp and other
// elementwise operators), `impl` only calls `run_loops(*this, ...)` of
// outback/kernels/elementwise.h.
//
// Register every variant that the operator has: functional, out= and in place. Outback serves a
// variant that you leave out, with the CPU's kernel. PyTorch already has the shape function that
// FakeTensor and torch.compile need, and the derivative.
//
// A kernel that serves only some calls, only float32 say, has a condition, which gets the arguments
// of `meta`. If it returns false, the call is declined (decline.h), and neither `meta` nor `impl`
// runs:
//
//   static bool supports(const at::Tensor& self, const at::Tensor& mat2);
//
// Start at `impl_structured`, at the end of this file.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/SmallVector.h>
#include <torch/library.h>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "outback/kernels/decline.h"
#include "outback/kernels/structured_adapter.h"

namespace outback::kernels {
namespace detail {

/// The three kinds of overloads of a structured operator: mm, mm.out, mm_.
enum class overload_kind { functional, out, inplace };

/// The outputs of one call. `meta` sets their shapes, strides and dtypes. The class does the same
/// as the code that torchgen (torchgen/dest/register_dispatch_key.py) generates for the CPU and
/// CUDA.
class structured_outputs {
 public:
  structured_outputs(overload_kind kind, size_t count)
      : kind_(kind), outputs_(count), proxies_(count) {}

  /// Keeps an output that the caller passed: `out`, or `self` of an in-place operator. Call it
  /// before `meta`.
  void bring(size_t index, const at::Tensor& output) { outputs_[index] = output; }

  /// `meta` calls this once for each output. It allocates a functional output, checks and resizes
  /// an out= output, and only checks the output of an in-place operator. Makes the output's device
  /// the current device. With `exact_strides` the kernel gets exactly these strides, if necessary
  /// in a temporary. An empty `stride` means contiguous, or the memory format of `options`. Throws
  /// c10::Error for a wrong dtype or device, and for a wrong size in place.
  void set(size_t index, at::IntArrayRef size, at::IntArrayRef stride,
           const at::TensorOptions& options, bool exact_strides);

  /// The tensor that the kernel writes: the output or its temporary.
  const at::Tensor& at(size_t index) const {
    return proxies_[index].defined() ? proxies_[index] : outputs_[index];
  }

  /// Copies temporaries to the outputs, in stream order. Call it after `impl`.
  void finish();

  /// Moves a functional output out. Call it once for each output.
  at::Tensor take(size_t index) { return std::move(outputs_[index]); }

 private:
  overload_kind kind_;
  c10::SmallVector<at::Tensor, 2> outputs_;
  c10::SmallVector<at::Tensor, 2> proxies_;  // the temporaries; undefined if not needed
  c10::OptionalDeviceGuard guard_;           // restores the current device after the call
};

/// Throws c10::Error unless `tensor` is on the device `common`; the first tensor sets `common`.
/// Ignores an undefined tensor. `name` is the operator's name in the text.
void check_device(std::optional<c10::Device>& common, const at::Tensor& tensor, const char* name);

/// Does the same for an argument of any type: checks all tensors in the argument.
template <class Argument>
void check_devices(std::optional<c10::Device>& common, const Argument& argument, const char* name) {
  if constexpr (std::is_same_v<Argument, at::Tensor>) {
    check_device(common, argument, name);
  } else if constexpr (std::is_same_v<Argument, std::optional<at::Tensor>>) {
    if (argument) check_device(common, *argument, name);
  } else if constexpr (std::is_same_v<Argument, at::ITensorListRef>) {
    for (const at::Tensor& tensor : argument) check_device(common, tensor, name);
  }
}

/// Converts an argument of the operator to the type that `meta` and `impl` take: symbolic sizes
/// become numbers, and an undefined optional tensor becomes nullopt.
template <class Argument>
decltype(auto) as_meta_argument(const Argument& argument) {
  if constexpr (std::is_same_v<Argument, std::optional<at::Tensor>>) {
    return argument && argument->defined() ? at::OptionalTensorRef(*argument)
                                           : at::OptionalTensorRef();
  } else if constexpr (std::is_same_v<Argument, std::optional<at::Scalar>>) {
    return argument ? at::OptionalScalarRef(&*argument) : at::OptionalScalarRef();
  } else if constexpr (std::is_same_v<Argument, c10::SymInt>) {
    return argument.guard_int(__FILE__, __LINE__);
  } else if constexpr (std::is_same_v<Argument, c10::SymIntArrayRef>) {
    return C10_AS_INTARRAYREF_SLOW(argument);
  } else if constexpr (std::is_same_v<Argument, std::optional<c10::SymInt>>) {
    return argument ? std::optional<int64_t>(argument->guard_int(__FILE__, __LINE__))
                    : std::nullopt;
  } else if constexpr (std::is_same_v<Argument, at::OptionalSymIntArrayRef>) {
    return argument ? at::OptionalIntArrayRef(C10_AS_INTARRAYREF_SLOW(*argument))
                    : at::OptionalIntArrayRef();
  } else {
    return (argument);
  }
}

/// How many arguments a member function takes.
template <class Method>
inline constexpr size_t arity_of = 0;
template <class Result, class Class, class... Arguments>
inline constexpr size_t arity_of<Result (Class::*)(Arguments...)> = sizeof...(Arguments);

/// How many tensors an operator returns.
template <class Result>
inline constexpr size_t outputs_of = 1;
template <class... Parts>
inline constexpr size_t outputs_of<std::tuple<Parts...>> = sizeof...(Parts);

/// Whether the operator returns new tensors. The other variants return references to their
/// arguments.
template <class Result>
inline constexpr bool is_functional = !std::is_reference_v<Result>;
template <class First, class... More>
inline constexpr bool is_functional<std::tuple<First, More...>> = !std::is_reference_v<First>;

}  // namespace detail

/// The kernel of one variant: `run` has the signature of the operator `Operator`, such as
/// at::_ops::mm. Use it if you do not register your kernels with `impl_structured`.
template <class Kernel, class Operator, class Signature = typename Operator::schema>
struct structured_kernel;

template <class Kernel, class Operator, class Result, class... Arguments>
struct structured_kernel<Kernel, Operator, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    if constexpr (requires { &Kernel::supports; }) {
      const bool is_supported = [&]<size_t... input>(const auto& passed,
                                                     std::index_sequence<input...>) {
        return Kernel::supports(detail::as_meta_argument(std::get<input>(passed))...);
      }(std::forward_as_tuple(arguments...), std::make_index_sequence<inputs>());
      if (!is_supported) return decline<Operator>(std::forward<Arguments>(arguments)...);
    }
    return run_on(std::forward_as_tuple(arguments...), std::make_index_sequence<inputs>(),
                  std::make_index_sequence<outputs>());
  }

 private:
  // The number of inputs is the same for all variants: `meta` takes only the inputs, and out= takes
  // the outputs after them.
  static constexpr size_t inputs = detail::arity_of<decltype(&Kernel::meta)>;
  static constexpr size_t outputs = detail::outputs_of<Result>;
  static constexpr detail::overload_kind kind =
      detail::is_functional<Result>    ? detail::overload_kind::functional
      : sizeof...(Arguments) == inputs ? detail::overload_kind::inplace
                                       : detail::overload_kind::out;
  // Fails for an operator that does not belong to the class, such as at::_ops::mul with
  // structured_mm.
  static_assert(sizeof...(Arguments) == inputs + (kind == detail::overload_kind::out ? outputs : 0),
                "not a variant of the kernel's operator");

  // The index of the first output among the arguments: after the inputs for out=, 0 (`self`) in
  // place.
  static constexpr size_t first_output = kind == detail::overload_kind::out ? inputs : 0;

  // Makes one call, from the device check to the result. `passed` holds references to the
  // arguments.
  template <class Passed, size_t... input, size_t... output>
  static Result run_on(const Passed& passed, std::index_sequence<input...>,
                       std::index_sequence<output...>) {
    // A TensorIterator checks the devices itself, because it allows CPU scalars.
    if constexpr (!std::is_base_of_v<at::TensorIteratorBase, Kernel>) {
      std::optional<c10::Device> common;
      std::apply(
          [&](const auto&... each) { (detail::check_devices(common, each, Operator::name), ...); },
          passed);
    }
    detail::with_outputs<Kernel, detail::structured_outputs> kernel(kind, outputs);
    if constexpr (kind != detail::overload_kind::functional) {
      (kernel.outputs.bring(output, std::get<first_output + output>(passed)), ...);
    }
    run_kernel(kernel, detail::as_meta_argument(std::get<input>(passed))...);
    kernel.outputs.finish();
    if constexpr (kind == detail::overload_kind::functional) {
      return Result{kernel.outputs.take(output)...};
    } else if constexpr (std::is_reference_v<Result>) {
      return std::get<first_output>(passed);
    } else {
      return Result(std::get<first_output + output>(passed)...);
    }
  }

  // Calls `meta`, which sets all outputs, then calls `impl` with the result of `meta`, the inputs
  // and the outputs.
  template <class... Passed>
  static void run_kernel(detail::with_outputs<Kernel, detail::structured_outputs>& kernel,
                         const Passed&... passed) {
    const auto run_impl = [&]<size_t... output>(std::index_sequence<output...>,
                                                const auto&... worked_out) {
      kernel.impl(worked_out..., passed..., kernel.outputs.at(output)...);
    };
    if constexpr (std::is_void_v<decltype(kernel.meta(passed...))>) {
      kernel.meta(passed...);
      run_impl(std::make_index_sequence<outputs>());
    } else {
      const auto worked_out = kernel.meta(passed...);
      run_impl(std::make_index_sequence<outputs>(), worked_out);
    }
  }
};

/// Registers `Kernel` for the variants `Operators` of its operator, such as at::_ops::mm and
/// at::_ops::mm_out. Call it in a TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) block and pass `m`; it
/// may come before or after register_backend().
///
/// Each call of the operator makes its own `Kernel`, without arguments, on the calling thread, and
/// runs `meta` and `impl` there. While `impl` runs, the device of the outputs is the current
/// device. Calls pass on exceptions of `meta` and `impl`, and throw c10::Error if tensors are on
/// several devices or an output has the wrong dtype, device or size.
template <class Kernel, class... Operators>
void impl_structured(torch::Library& library) {
  // The name in the registration includes the overload's name: "mm", "mm.out".
  const auto impl = [&library]<class Operator>(std::type_identity<Operator>) {
    std::string name = Operator::name;
    if (*Operator::overload_name != '\0') name += std::string(".") + Operator::overload_name;
    library.impl(name.c_str(), TORCH_FN((structured_kernel<Kernel, Operator>::run)));
  };
  (impl(std::type_identity<Operators>()), ...);
}

}  // namespace outback::kernels
