// outback::register_backend for Python: the C++ registration, and everything that PyTorch's Python
// looks up by the device's name.
#include <c10/util/Exception.h>

#include <stdexcept>
#include <string>

#include "backend_template/module/at_exit.h"
#include "backend_template/module/device_module.h"
#include "backend_template/python/errors.h"
#include "backend_template/python/names.h"
#include "backend_template/python/normalize.h"
#include "backend_template/python/printing.h"
#include "generators/methods/methods.h"
#include "outback/python.h"
#include "registration/checks.h"

namespace py = pybind11;

namespace outback {
namespace {

// The module that became `torch.<name>`. Leaked, as torch keeps it too.
PyObject* device_module = nullptr;

// Code that runs the module's initialization again (a second import under another name, a reload)
// gets the same functions and classes: there is one backend in the process.
void share_device_module(const py::module_& module) {
  const py::dict source = py::reinterpret_borrow<py::module_>(device_module).attr("__dict__");
  for (const auto& [key, value] : source) {
    if (!py::hasattr(module, key)) py::setattr(module, key, value);
  }
}

void register_device_module(py::module_& module, const std::string& name) {
  const py::module_ torch = py::module_::import("torch");
  torch.attr("_register_device_module")(name, module);
  // Called before there was a backend, it keeps answering "the CPU's".
  torch.attr("get_device_module").attr("cache_clear")();
  device_module = module.inc_ref().ptr();
}

void register_in_python(py::module_& module, const backend_options& options) {
  registration::check_registrable(options);
  if (device_module != nullptr) {
    share_device_module(module);
    return;
  }
  python::check_names_free(options);
  register_backend(options);  // from here on nothing is expected to fail
  python::translate_bound_exceptions();
  python::rename_in_python(options.name);
  python::define_device_module(module, options.name);
  python::define_normalization(module);
  register_device_module(module, options.name);
  if (options.tensor_methods) python::add_tensor_methods(options.name);
  if (options.module_methods) python::add_module_methods(options.name);
  if (options.packed_sequence_methods) python::add_packed_sequence_methods(options.name);
  if (options.storage_methods) python::add_storage_methods(options.name);
  python::add_dlpack_methods();
  python::teach_printing();
  python::register_reducers(module);
  python::register_dynamo_interface(options.name);
  python::register_inductor_backend(options.name);
  python::register_exit_handler();
}

}  // namespace

void register_backend(py::module_& module, const backend_options& options) {
  try {
    // libtorch_python is loaded by now, but not set up when a user imports the extension module
    // before torch.
    py::module_::import("torch");
    register_in_python(module, options);
  } catch (const c10::Error& error) {
    // pybind11 turns it into the ImportError of the extension module: its text is all the user
    // sees.
    throw std::runtime_error(error.what_without_backtrace());
  }
}

}  // namespace outback
