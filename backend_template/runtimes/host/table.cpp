// The process's one host runtime, and the C function that returns its table.
#include "backend_template/runtimes/host/host.h"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/detail/refused_table.hpp"

namespace outback::host {

const outback_runtime* table() {
  // Leaked on purpose: tensors, and the threads of streams, may outlive main().
  static host_runtime& instance = []() -> host_runtime& {
    try {
      return *new host_runtime(options_from_environment());
    } catch (const runtime_error& error) {
      // The C function must return a table whatever the environment says. Marking it refused makes
      // a registration fail with the variable's text before any slot is called.
      auto& refused = *new host_runtime(refusal{error.what()});
      outback::detail::refuse_table(table_of(refused), error.what());
      return refused;
    }
  }();
  return table_of(instance);
}

}  // namespace outback::host

extern "C" const outback_runtime* outback_host_runtime(void) {
  return outback::host::table();
}
