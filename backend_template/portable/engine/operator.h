// Registers portable kernels: each is asked first whether it takes the arguments.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "backend_template/ops/in_place/unboxed_kernel.h"
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
    if (is_taken(std::index_sequence_for<Arguments...>(), arguments...)) {
      try {
        return run(arguments...);
      } catch (const no_kernel&) {
        // The next provider serves the call.
      }
    }
    return next<Operator>::call(std::forward<Arguments>(arguments)...);
  }

 private:
  template <size_t... i>
  static bool is_taken(std::index_sequence<i...> /*places*/,
                       const std::remove_cvref_t<Arguments>&... arguments) {
    taken seen;
    (look_at<Arguments>(seen, i, arguments), ...);
    return seen.all && seen.device >= 0 && !refuses_cpu_scalars(ops::operator_of<Operator>, seen);
  }
};

template <class Operator, typename Operator::schema* run>
void add(ops::registrar& to) {
  to.add<Operator, &guarded<Operator, run>::call>();
}

}  // namespace outback::portable
