// A backend for a runtime that is in a library of its own: torch_outback.load() finds its table.
#include <outback/python.h>

#include <cstdint>
#include <string>

namespace py = pybind11;

PYBIND11_MODULE(outback_loader, module) {
  // Gone from the module once it was called: what is left is torch.<name>.
  module.def("_register", [module](const std::string& name, uintptr_t table) mutable {
    outback::register_backend(module, {.name = name,
                                       .runtime = reinterpret_cast<const outback_runtime*>(table),
                                       .amp_dtypes = {at::kHalf, at::kBFloat16}});
    py::delattr(module, "_register");
  });
}
