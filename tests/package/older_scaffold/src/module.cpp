// The backend: a name and a runtime. Outback makes the rest.
#include <outback/linked_runtime.h>
#include <outback/python.h>

PYBIND11_MODULE(_C, module) {
  outback::register_backend(module, {.name = "acme", .runtime = outback::linked_runtime()});
}
