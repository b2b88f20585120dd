// outback::register_backend for Python: the C++ registration, then everything that PyTorch's Python
// looks up by the device's name.
#include <c10/util/Exception.h>

#include <stdexcept>
#include <string>

#include "backend_template/core/twin/twin.h"
#include "backend_template/distributed/registrations.h"
#include "backend_template/module/at_exit.h"
#include "backend_template/module/device_module.h"
#include "backend_template/python/embedded.h"
#include "backend_template/python/errors.h"
#include "backend_template/python/gil.h"
#include "backend_template/python/imported.h"
#include "backend_template/python/names.h"
#include "backend_template/python/normalize.h"
#include "generators/methods/methods.h"
#include "outback/python.h"
#include "registration/checks.h"

namespace py = pybind11;

namespace outback {
namespace {

// The module that became `torch.<name>`. Leaked: torch keeps it too.
PyObject* device_module = nullptr;

// Gives a second module the functions and classes of the first one. Python initializes the
// extension module again for a second import under another name or a reload, and the process has
// one backend.
void share_device_module(const py::module_& module) {
  const py::dict source = py::reinterpret_borrow<py::module_>(device_module).attr("__dict__");
  for (const auto& [key, value] : source) {
    if (!py::hasattr(module, key)) py::setattr(module, key, value);
  }
}

void register_device_module(py::module_& module, const std::string& name) {
  const py::module_ torch = python::import_module("torch");
  torch.attr("_register_device_module")(name, module);
  // This function is cached: called before the registration, it would go on returning the CPU's.
  torch.attr("get_device_module").attr("cache_clear")();
  device_module = module.inc_ref().ptr();
}

// What Python looks up. The order matters: the names before what looks them up, the device module
// before what reads its members.
void publish(py::module_& module, const backend_options& options) {
  python::rename_in_python(options.name);
  register_device_module(module, options.name);
  if (options.tensor_methods) python::add_tensor_methods(options.name);
  if (options.module_methods) python::add_module_methods(options.name);
  if (options.packed_sequence_methods) python::add_packed_sequence_methods(options.name);
  if (options.storage_methods) python::add_storage_methods(options.name);
  python::add_dlpack_methods();
  python::part("printing").attr("teach")();
  python::part("pickling").attr("teach")();
  python::part("autograd").attr("teach")();
  python::part("reducers").attr("register")();
  python::part("loading").attr("register")();
  python::part("data_parallel").attr("register")();
  python::part("attention").attr("register")();
  if (core::may_have_twins()) python::part("recurrent").attr("register")();
  python::part("compile").attr("register")();
#ifdef OUTBACK_HAS_DISTRIBUTED  // not in a torch that was built without torch.distributed
  distributed::register_sparse_kernels();
  distributed::define_groups(module);
#endif
  python::part("distributed").attr("register")();
  python::register_exit_handler();
  python::part("integrations").attr("enable_wanted")();
}

void register_in_python(py::module_& module, const backend_options& options) {
  registration::check_registrable(options);
  if (device_module != nullptr) {
    share_device_module(module);
    return;
  }
  static bool has_begun = false;  // with the GIL
  TORCH_CHECK(!has_begun, options.name,
              ": an import of it has begun in this process, and has not come to its end; if it was "
              "interrupted, import it in a new process");
  python::check_names_free(options);
  register_backend(options);
  // From here on nothing is expected to fail, and much of it could not be undone.
  has_begun = true;
  python::translate_bound_exceptions();
  python::give_up_gil_in_waits();
  python::define_device_module(module);
  python::define_normalization(module);
  // Executes the sources, which publish nothing by themselves.
  for (const char* later :
       {"printing", "pickling", "autograd", "reducers", "loading", "data_parallel", "attention",
        "compile", "distributed", "integrations"}) {
    python::part(later);
  }
  publish(module, options);
}

}  // namespace

void register_backend(py::module_& module, const backend_options& options) {
  try {
    // If a user imports the extension module before torch, libtorch_python is loaded by now but not
    // initialized.
    python::import_module("torch");
    register_in_python(module, options);
  } catch (const c10::Error& error) {
    // pybind11 makes an ImportError of it. Its text is all that the user sees, so it has no
    // backtrace.
    throw std::runtime_error(error.what_without_backtrace());
  }
}

}  // namespace outback
