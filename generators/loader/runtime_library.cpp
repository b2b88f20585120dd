// The runtime of a backend's package as a library of its own, where it is one of Outback's: the
// function that a runtime of one's own has too, `acme_runtime`.
#include <outback/runtime.h>
#include <outback/detail/refused_table.hpp>

#include <stdexcept>
#include <string>

// outback_add_backend() defines both names: outback_host_runtime, and acme_runtime.
extern "C" const outback_runtime* OUTBACK_LINKED_RUNTIME(void);

extern "C" __attribute__((visibility("default"))) const outback_runtime* OUTBACK_RUNTIME_OF_BACKEND(
    void) {
  const outback_runtime* const table = OUTBACK_LINKED_RUNTIME();
  // The list of refused tables is this library's: the registration, in another one, cannot read it.
  // The loader catches what is thrown here.
  const std::string why = outback::detail::refusal_of_table(table);
  if (!why.empty()) throw std::invalid_argument(why);
  return table;
}
