// Registers portable kernels: each is asked first whether it takes the arguments.
#pragma once

#include <utility>

#include "backend_template/ops/registrar.h"
#include "backend_template/portable/engine/kernel_cache.h"
#include "backend_template/portable/engine/next.h"
#include "backend_template/portable/engine/takes.h"

namespace outback::portable {

/// `guarded<at::_ops::mm, &run>::call` is a kernel for the operator: it calls `run`, a function
/// with the operator's signature, if portable kernels take the arguments, and the next provider if
/// not, or if `run` throws no_kernel.
template <class Operator, typename Operator::schema* run,
          class Signature = typename Operator::schema>
struct guarded;

template <class Operator, typename Operator::schema* run, class Result, class... Arguments>
struct guarded<Operator, run, Result(Arguments...)> {
  static Result call(Arguments... arguments) {
    if (takes(arguments...)) {
      try {
        return run(arguments...);
      } catch (const no_kernel&) {
        // The next provider serves the call.
      }
    }
    return next<Operator>::call(std::forward<Arguments>(arguments)...);
  }
};

template <class Operator, typename Operator::schema* run>
void add(ops::registrar& to) {
  to.add<Operator, &guarded<Operator, run>::call>();
}

}  // namespace outback::portable
