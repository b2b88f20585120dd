// The runtime of a backend's package as a library of its own, where it is one of Outback's: the
// function that a runtime of one's own has too, `acme_runtime`.
#include <outback/runtime.h>

// outback_add_backend() defines both names: outback_host_runtime, and acme_runtime.
extern "C" const outback_runtime* OUTBACK_LINKED_RUNTIME(void);

extern "C" __attribute__((visibility("default"))) const outback_runtime* OUTBACK_RUNTIME_OF_BACKEND(
    void) {
  return OUTBACK_LINKED_RUNTIME();
}
