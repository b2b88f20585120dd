// The boxed kernel behind a fast path, for operators that unboxed_kernel does not support: they
// write a list, return no tensor, or return a value to the host.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/core/DispatchKeySet.h>

#include <utility>

#include "backend_template/ops/in_place/boxed_kernel.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {

/// Runs `Operator` (a struct of at::_ops) on aliases of `arguments`. Throws what boxed_kernel
/// throws.
template <class Operator, class Signature = typename Operator::schema>
struct lent_call;

template <class Operator, class Result, class... Arguments>
struct lent_call<Operator, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    static const auto& kernel =
        *new c10::KernelFunction(boxed_kernel(c10::DispatchKey::Dense));  // leaked: may run at exit
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): torch has every operator in at::_ops
    static const auto op = *registrar::find(Operator::name + 6, Operator::overload_name);
    return kernel.call<Result, Arguments...>(op, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                             std::forward<Arguments>(arguments)...);
  }
};

}  // namespace outback::ops
