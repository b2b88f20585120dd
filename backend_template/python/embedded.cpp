#include "backend_template/python/embedded.h"

#include <marshal.h>

#include <string>

#include "backend_template/python/embedded_sources.h"
#include "backend_template/python/imported.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

std::string package_name() {
  return "torch." + backend_name() + "._outback";
}

// Returns the code of the source `name`, as if it had been compiled from the file `file`.
py::object code_of(const std::string& name, const std::string& file) {
  const embedded_source* source = embedded_sources;
  while (source->name != nullptr && name != source->name) ++source;
  if (source->name == nullptr) throw py::import_error("there is no " + file);
  static const bool is_compiled = PyImport_GetMagicNumber() == embedded_magic;
  const auto code = py::reinterpret_steal<py::object>(
      is_compiled ? PyMarshal_ReadObjectFromString(source->code, source->code_size)
                  : Py_CompileString(source->text, file.c_str(), Py_file_input));
  if (!code) throw py::error_already_set();
  // What importlib does with compiled files, too.
  py::handle(PyImport_AddModule("_imp")).attr("_fix_co_filename")(code, file);
  return code;
}

}  // namespace

py::module_ define_package(py::module_& module) {
  const std::string name = package_name();
  auto package = py::reinterpret_steal<py::module_>(PyModule_New(name.c_str()));
  if (!package) throw py::error_already_set();
  py::dict texts;
  for (const embedded_source* source = embedded_sources; source->name != nullptr; ++source) {
    texts[source->name] = source->text;
  }
  package.attr("_texts") = texts;
  package.attr("_code_of") = py::cpp_function(&code_of);
  package.attr("name") = backend_name();
  package.attr("device_module") = module;
  const std::string file = "<" + name + ">/__init__.py";
  package.attr("__file__") = file;
  import_module("sys").attr("modules")[py::str(name)] = package;
  module.attr("_outback") = package;
  import_module("builtins").attr("exec")(code_of("__init__", file), package.attr("__dict__"));
  return package;
}

py::module_ part(const char* name) {
  return import_module((package_name() + "." + name).c_str());
}

}  // namespace outback::python
