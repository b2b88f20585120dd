#include "generators/methods/descriptors.h"

#include <cstring>

namespace py = pybind11;

namespace outback::python {
namespace {

// Copies `text` and leaks the copy. A descriptor keeps pointers to its definition and to its texts,
// and the classes that hold the descriptors live as long as the interpreter.
const char* keep(const std::string& text) {
  char* const kept = new char[text.size() + 1];
  std::memcpy(kept, text.c_str(), text.size() + 1);
  return kept;
}

void install(PyObject* type, const char* name, PyObject* descriptor) {
  const auto owner = py::reinterpret_steal<py::object>(descriptor);
  if (!owner || PyObject_SetAttrString(type, name, descriptor) != 0) throw py::error_already_set();
}

}  // namespace

void add_method(PyObject* type, const std::string& name, fast_method method,
                const std::string& signature, const std::string& doc) {
  auto* const definition = new PyMethodDef{};
  definition->ml_name = keep(name);
  // Cast through void*, since CPython stores every calling convention as a PyCFunction: the flags
  // say which one it is.
  definition->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(method));
  definition->ml_flags = METH_FASTCALL | METH_KEYWORDS;
  // The form in which CPython finds a signature in a doc string.
  definition->ml_doc = keep(name + signature + "\n--\n\n" + doc);
  install(type, definition->ml_name,
          PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type), definition));
}

void add_property(PyObject* type, const std::string& name, getter get, const std::string& doc) {
  auto* const definition = new PyGetSetDef{};
  definition->name = keep(name);
  definition->get = get;
  definition->doc = keep(doc);
  install(type, definition->name,
          PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(type), definition));
}

}  // namespace outback::python
