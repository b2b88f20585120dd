// The process's one host runtime, and the C function that returns its table.
#include "backend_template/runtimes/host/host.h"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "backend_template/runtimes/refused_runtime.hpp"

extern "C" const outback_runtime* outback_host_runtime(void) {
  using namespace outback::host;
  // Leaked on purpose: tensors, and the threads of streams, may outlive main().
  static const outback_runtime* const table =
      outback::table_or_refusal([] { return new host_runtime(options_from_environment()); });
  return table;
}
