// The extension module of torch_outback.load(), which registers a backend for a runtime in a
// library that somebody else compiled: Python finds the library's table and passes its address.
#include <outback/python.h>

#include <cstdint>
#include <string>

namespace py = pybind11;

PYBIND11_MODULE(outback_loader, module) {
  // A runtime's function <name>_runtime, by its address. Called here for the sake of what it
  // throws, which ctypes would not survive.
  module.def("_table", [](uintptr_t function) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ctypes gives addresses
    auto* const table = reinterpret_cast<const outback_runtime* (*)()>(function)();
    return reinterpret_cast<uintptr_t>(table);
  });
  // Removed from the module by its first successful call: what remains is the contents of
  // torch.<name>.
  module.def("_register", [module](const std::string& name, uintptr_t table) mutable {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* const runtime = reinterpret_cast<const outback_runtime*>(table);
    outback::register_backend(
        module, {.name = name, .runtime = runtime, .amp_dtypes = {at::kHalf, at::kBFloat16}});
    py::delattr(module, "_table");
    py::delattr(module, "_register");
  });
}
