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
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKeySet.h>

#include <type_traits>
#include <utility>

namespace outback::kernels {
namespace detail {

/// Returns the kernel that serves `op` after a vendor's, or null if torch composes the operator.
/// Notes for the operator report that the call was declined. Throws what `runtime()` throws.
const c10::KernelFunction* kernel_after_vendors(const c10::OperatorHandle& op);

template <class Operator, class Signature = typename Operator::schema>
struct next_provider;

template <class Operator, class Result, class... Arguments>
struct next_provider<Operator, Result(Arguments...)> {
  static Result call(Arguments... arguments) {
    // Leaked, since a handle that a thread still uses must not go at the process's end.
    static const auto& op = *new c10::TypedOperatorHandle<Result(Arguments...)>(
        c10::Dispatcher::singleton()
            .findSchemaOrThrow(Operator::name, Operator::overload_name)
            .template typed<Result(Arguments...)>());
    const c10::KernelFunction* const next = kernel_after_vendors(op);
    if (next == nullptr) {  // composed, as on the CPU
      return op.redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU),
                           std::forward<Arguments>(arguments)...);
    }
    return next->template call<Result, Arguments...>(
        op, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
        std::forward<Arguments>(arguments)...);
  }
};

}  // namespace detail

/// Has the next provider serve this call of `Operator`, such as at::_ops::addmm, and returns its
/// result. Call it in a kernel of `Operator` for this device, with the kernel's own arguments,
/// before the kernel writes anything. Throws what the next provider throws:
/// c10::NotImplementedError if nobody serves the operator. Thread-safe.
template <class Operator, class... Given>
decltype(auto) decline(Given&&... arguments) {
  return detail::next_provider<Operator>::call(std::forward<Given>(arguments)...);
}

/// `when<at::_ops::addmm, &supports, &kernel>::run` calls `kernel` for the calls of which
/// `supports` returns true, and declines the others. Both take the operator's arguments.
template <class Operator, auto* supports, auto* kernel, class Signature = typename Operator::schema>
struct when;

template <class Operator, auto* supports, auto* kernel, class Result, class... Arguments>
struct when<Operator, supports, kernel, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    if (!supports(arguments...)) {
      return detail::next_provider<Operator>::call(std::forward<Arguments>(arguments)...);
    }
    return kernel(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace outback::kernels
