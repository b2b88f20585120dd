// For a kernel that serves only some calls of its operator: only float32, say, or only matrices.
//
//   at::Tensor acme_addmm(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
//                         const at::Scalar& beta, const at::Scalar& alpha) {
//     if (self.scalar_type() != at::kFloat) {
//       return outback::kernels::decline<at::_ops::addmm>(self, mat1, mat2, beta, alpha);
//     }
//     ...
//   }
//
// The next provider then serves the call, as if the operator had no kernel of yours: a portable
// kernel, the CPU's kernel in place or over copies, or torch, which composes the operator of
// others. The operator report has a row for such calls.
//
// Where a condition on the arguments decides, `when` puts the condition beside the kernel:
//
//   bool is_float(const at::Tensor& self, const at::Tensor&, const at::Tensor&, const at::Scalar&,
//                 const at::Scalar&);
//   m.impl("addmm", &outback::kernels::when<at::_ops::addmm, &is_float, &acme_addmm>::run);
//
// A class of structured.h has its condition in a member `supports`.
#pragma once

#include <ATen/core/ATen_fwd.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/SymIntArrayRef.h>

#include <type_traits>
#include <utility>

namespace outback::kernels {
namespace detail {

/// Returns the kernel that serves a call of `op` that a vendor's kernel declines, and notes for the
/// operator report whose it is. The kernel lives until the process ends. Throws what `runtime()`
/// throws.
const c10::KernelFunction& kernel_after_vendors(const c10::OperatorHandle& op);

/// Returns an argument of a kernel as its operator takes it: a kernel that takes sizes as numbers
/// has no symbolic ones.
template <class Wanted, class Given>
decltype(auto) as_operator_argument(Given&& given) {
  if constexpr (std::is_same_v<Wanted, c10::SymIntArrayRef> &&
                !std::is_convertible_v<Given, c10::SymIntArrayRef>) {
    return c10::fromIntArrayRefSlow(given);
  } else if constexpr (std::is_same_v<Wanted, at::OptionalSymIntArrayRef> &&
                       !std::is_convertible_v<Given, at::OptionalSymIntArrayRef>) {
    if constexpr (std::is_convertible_v<Given, at::IntArrayRef>) {
      return at::OptionalSymIntArrayRef(c10::fromIntArrayRefSlow(given));
    } else {
      return given.has_value() ? at::OptionalSymIntArrayRef(c10::fromIntArrayRefSlow(*given))
                               : at::OptionalSymIntArrayRef();
    }
  } else {
    return std::forward<Given>(given);
  }
}

template <class Operator, class Signature = typename Operator::schema>
struct next_provider;

template <class Operator, class Result, class... Arguments>
struct next_provider<Operator, Result(Arguments...)> {
  template <class... Given>
  static Result call(Given&&... given) {
    static_assert(sizeof...(Given) == sizeof...(Arguments), "not the operator's arguments");
    // Leaked, since a handle that a thread still uses must not go at the process's end.
    static const auto& op = *new c10::TypedOperatorHandle<Result(Arguments...)>(
        c10::Dispatcher::singleton()
            .findSchemaOrThrow(Operator::name, Operator::overload_name)
            .template typed<Result(Arguments...)>());
    return kernel_after_vendors(op).template call<Result, Arguments...>(
        op, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
        as_operator_argument<Arguments>(std::forward<Given>(given))...);
  }
};

}  // namespace detail

/// Has the next provider serve this call of `Operator`, such as at::_ops::addmm, and returns its
/// result. Call it in a kernel of `Operator` for the dispatch key PrivateUse1, with the kernel's
/// own arguments, before the kernel writes or enqueues anything. Throws what the next provider
/// throws: c10::NotImplementedError if nobody else serves the operator, and if the fallback mode is
/// "error" and the call would run over copies. Thread-safe.
///
/// An operator that torch composes of others has its derivative from its parts, and a kernel for it
/// takes the derivative with it; where you register both, decline the calls of both.
template <class Operator, class... Given>
decltype(auto) decline(Given&&... arguments) {
  return detail::next_provider<Operator>::call(std::forward<Given>(arguments)...);
}

/// `when<at::_ops::addmm, &supports, &kernel>::run` is a kernel that calls `kernel` if `supports`
/// returns true for the arguments, and declines the call if not. Both take the operator's
/// arguments.
template <class Operator, auto* supports, auto* kernel,
          class Signature = std::remove_pointer_t<decltype(kernel)>>
struct when;

template <class Operator, auto* supports, auto* kernel, class Result, class... Arguments>
struct when<Operator, supports, kernel, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    if (!supports(arguments...)) {
      return decline<Operator>(std::forward<Arguments>(arguments)...);
    }
    return kernel(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace outback::kernels
