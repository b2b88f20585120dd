#include "backend_template/core/kernels/portable_choice.h"

#include "backend_template/core/runtime/environment.h"

namespace outback::core {
namespace {

// Not atomic, since it is written before the backend can be used.
portable_choice chosen = portable_choice::apart;

}  // namespace

void read_portable_variable() {
  const auto read = from_environment([] {
    return outback::detail::choice_variable("OUTBACK_PORTABLE", {"apart", "always", "never"});
  });
  chosen = static_cast<portable_choice>(read.value_or(0));
}

portable_choice portable_devices() noexcept {
  return chosen;
}

}  // namespace outback::core
