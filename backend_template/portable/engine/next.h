// Hands a call that portable kernels do not serve to the next provider.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKeySet.h>

#include <utility>

#include "backend_template/ops/next_provider.h"

namespace outback::portable {

/// `next<at::_ops::add_Tensor>::call(self, other, alpha)` is what the operator does on a device
/// that portable kernels do not serve.
template <class Operator, class Signature = typename Operator::schema>
struct next;

template <class Operator, class Result, class... Arguments>
struct next<Operator, Result(Arguments...)> {
  static Result call(Arguments... arguments) {
    // Leaked: operators run until the process ends.
    static const auto& op = *new c10::TypedOperatorHandle<Result(Arguments...)>(
        c10::Dispatcher::singleton()
            .findSchemaOrThrow(Operator::name, Operator::overload_name)
            .template typed<Result(Arguments...)>());
    static const ops::next_kernel after = ops::kernel_after(ops::declined_by::portable, op);
    core::note_provider(after.provider);
    return after.kernel->template call<Result, Arguments...>(
        op, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
        std::forward<Arguments>(arguments)...);
  }
};

}  // namespace outback::portable
