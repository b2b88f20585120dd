// C subclasses of torch's static types.
//
// Stream and Event are C heap types over torch's and not Python classes: a Python class costs a
// dictionary an object and a Python frame a call, and torch's own methods do not check what they
// are given (torch.Stream.wait_event(1) reads outside the object), so each one is wrapped.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// A new type that adds `slots` to `base` and leaves its instances' layout alone. The slots need a
/// Py_tp_dealloc that calls `dealloc_like`.
pybind11::object make_subclass(const std::string& qualified_name, PyTypeObject* base,
                               PyType_Slot* slots);

/// torch's deallocators do not know that an instance of a heap type owns a reference to its type.
void dealloc_like(PyTypeObject* base, PyObject* self);

/// Calls `base`'s own method, which the one of the same name in our subclass hides.
PyObject* call_base(PyTypeObject* base, const char* method, PyObject* self, PyObject* argument);

/// ctypes.c_void_p(`address`), a new reference: what `_as_parameter_` answers, so that a ctypes
/// function takes the object itself.
PyObject* as_void_pointer(pybind11::handle address);

/// A METH_VARARGS | METH_KEYWORDS function as a PyMethodDef stores it.
inline PyCFunction with_keywords(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

}  // namespace outback::python
