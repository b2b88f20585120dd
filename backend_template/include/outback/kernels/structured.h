// Structured operators: a native kernel for one of PyTorch's operators, without its checks and
// shapes.
//
// Half of aten's operators are structured: PyTorch has a class of each, at::meta::structured_mm in
// <ATen/ops/mm_meta.h>, whose `meta` checks the arguments and works out shape and dtype of the
// results. A kernel derives from it and writes `impl`, the part that is the device's:
//
//   struct acme_mm : at::meta::structured_mm {
//     void impl(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out);
//   };
//   TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
//     outback::kernels::impl_structured<acme_mm, at::_ops::mm, at::_ops::mm_out>(m);
//   }
//
// `impl` takes what `meta` takes, then the outputs, which have their memory; they need not be
// contiguous. Where `meta` returns what it worked out (`meta_return_ty`, in ten operators), that
// comes first. <ATen/ops/mm_native.h> shows the signature that PyTorch's own kernels have. Where
// the class is a TensorIterator (add, exp and other elementwise operators), `run_loops(*this, ...)`
// of outback/kernels/elementwise.h is all that `impl` needs.
//
// Name every variant that the operator has: functional, out= and in place. One that is missing is
// Outback's, which runs on the CPU's kernel. The shape function that FakeTensor and torch.compile
// need is PyTorch's already, and so is the derivative.
#pragma once

#include <ATen/TensorMeta.h>
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

namespace at {
struct TensorIteratorBase;
}  // namespace at

namespace outback::kernels {
namespace detail {

enum class variant { functional, out, inplace };

/// The outputs of one call, as `meta` asks for them.
class structured_outputs {
 public:
  structured_outputs(variant kind, size_t count) : kind_(kind), outputs_(count), proxies_(count) {}

  /// Before `meta`: an output that the caller brought.
  void bring(size_t index, const at::Tensor& output) { outputs_[index] = output; }

  /// Allocates the output, or checks and resizes the one that is there. With `exact_strides` the
  /// kernel gets these strides, if need be those of a temporary.
  void set(size_t index, at::IntArrayRef size, at::IntArrayRef stride,
           const at::TensorOptions& options, bool exact_strides);

  /// What the kernel writes.
  const at::Tensor& at(size_t index) const {
    return proxies_[index].defined() ? proxies_[index] : outputs_[index];
  }

  /// After `impl`: carries temporaries over.
  void finish();

  at::Tensor take(size_t index) { return std::move(outputs_[index]); }

 private:
  variant kind_;
  c10::SmallVector<at::Tensor, 2> outputs_;
  c10::SmallVector<at::Tensor, 2> proxies_;
  c10::OptionalDeviceGuard guard_;
};

/// `Kernel` with these outputs. torch 2.11 passes names as well: that is `More`.
template <class Kernel, class Method = decltype(&at::impl::MetaBase::set_output_raw_strided)>
class with_outputs;

template <class Kernel, class... More>
class with_outputs<Kernel, void (at::impl::MetaBase::*)(int64_t, at::IntArrayRef, at::IntArrayRef,
                                                        at::TensorOptions, More...)>
    final : public Kernel {
 public:
  with_outputs(variant kind, size_t count) : outputs(kind, count) {}

  void set_output_strided(int64_t index, at::IntArrayRef size, at::IntArrayRef stride,
                          at::TensorOptions options, More... more) override {
    set(index, size, stride, options, true, more...);
  }

  void set_output_raw_strided(int64_t index, at::IntArrayRef size, at::IntArrayRef stride,
                              at::TensorOptions options, More... more) override {
    set(index, size, stride, options, false, more...);
  }

  const at::Tensor& maybe_get_output(int64_t index) override {
    return outputs.at(static_cast<size_t>(index));
  }

  structured_outputs outputs;

 private:
  void set(int64_t index, at::IntArrayRef size, at::IntArrayRef stride, at::TensorOptions options,
           bool exact_strides, More... more) {
    outputs.set(static_cast<size_t>(index), size, stride, options, exact_strides);
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Kernel>) {
      Kernel::set_output_raw_strided(index, size, stride, options, more...);  // it keeps them too
    }
  }
};

/// Throws unless `tensor` is on `common`, which the first tensor determines.
void check_device(std::optional<c10::Device>& common, const at::Tensor& tensor, const char* name);

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

/// An operator's argument as `meta` and `impl` take it: sizes are numbers, and an absent tensor is
/// one kind of absent.
template <class Argument>
decltype(auto) as_meta_argument(const Argument& argument) {
  if constexpr (std::is_same_v<Argument, std::optional<at::Tensor>>) {
    return argument && argument->defined() ? at::OptionalTensorRef(*argument)
                                           : at::OptionalTensorRef();
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

template <class Method>
inline constexpr size_t arity_of = 0;
template <class Result, class Class, class... Arguments>
inline constexpr size_t arity_of<Result (Class::*)(Arguments...)> = sizeof...(Arguments);

template <class Result>
inline constexpr size_t outputs_of = 1;
template <class... Parts>
inline constexpr size_t outputs_of<std::tuple<Parts...>> = sizeof...(Parts);

template <class Result>
inline constexpr bool is_functional = !std::is_reference_v<Result>;
template <class First, class... More>
inline constexpr bool is_functional<std::tuple<First, More...>> = !std::is_reference_v<First>;

}  // namespace detail

/// The kernel of one variant, for whoever registers it in another way than `impl_structured`.
template <class Kernel, class Operator, class Signature = typename Operator::schema>
struct structured_kernel;

template <class Kernel, class Operator, class Result, class... Arguments>
struct structured_kernel<Kernel, Operator, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    return run_on(std::forward_as_tuple(arguments...), std::make_index_sequence<inputs>(),
                  std::make_index_sequence<outputs>());
  }

 private:
  static constexpr size_t inputs = detail::arity_of<decltype(&Kernel::meta)>;
  static constexpr size_t outputs = detail::outputs_of<Result>;
  static constexpr detail::variant kind =
      detail::is_functional<Result>    ? detail::variant::functional
      : sizeof...(Arguments) == inputs ? detail::variant::inplace
                                       : detail::variant::out;
  static_assert(sizeof...(Arguments) == inputs + (kind == detail::variant::out ? outputs : 0),
                "not a variant of the kernel's operator");

  // Where the arguments have the outputs: behind the inputs, or in the place of the first one.
  static constexpr size_t first_output = kind == detail::variant::out ? inputs : 0;

  template <class Passed, size_t... input, size_t... output>
  static Result run_on(const Passed& passed, std::index_sequence<input...>,
                       std::index_sequence<output...>) {
    // A TensorIterator does it itself: it knows of CPU scalars.
    if constexpr (!std::is_base_of_v<at::TensorIteratorBase, Kernel>) {
      std::optional<c10::Device> common;
      std::apply(
          [&](const auto&... each) { (detail::check_devices(common, each, Operator::name), ...); },
          passed);
    }
    detail::with_outputs<Kernel> kernel(kind, outputs);
    if constexpr (kind != detail::variant::functional) {
      (kernel.outputs.bring(output, std::get<first_output + output>(passed)), ...);
    }
    run_kernel(kernel, detail::as_meta_argument(std::get<input>(passed))...);
    kernel.outputs.finish();
    if constexpr (kind == detail::variant::functional) {
      return Result{kernel.outputs.take(output)...};
    } else if constexpr (std::is_reference_v<Result>) {
      return std::get<first_output>(passed);
    } else {
      return Result(std::get<first_output + output>(passed)...);
    }
  }

  template <class... Passed>
  static void run_kernel(detail::with_outputs<Kernel>& kernel, const Passed&... passed) {
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

/// Registers `Kernel` for the variants `Operators` of its operator: at::_ops::mm, at::_ops::mm_out.
/// In a TORCH_LIBRARY_IMPL block of PrivateUse1 as anything else; `Kernel` is made anew for each
/// call, without arguments. Calls throw what `meta` and `impl` throw, and c10::Error where tensors
/// are on several devices or an output has the wrong dtype.
template <class Kernel, class... Operators>
void impl_structured(torch::Library& library) {
  const auto impl = [&library]<class Operator>(std::type_identity<Operator>) {
    std::string name = Operator::name;
    if (*Operator::overload_name != '\0') name += std::string(".") + Operator::overload_name;
    library.impl(name.c_str(), TORCH_FN((structured_kernel<Kernel, Operator>::run)));
  };
  (impl(std::type_identity<Operators>()), ...);
}

}  // namespace outback::kernels
