// Subclasses in C of torch's static types torch.Stream and torch.Event. Internal to module/.
//
// Stream and Event are C heap types and not Python classes: with a Python class each object would
// have a dictionary and each call a Python frame. torch's own methods do not check their arguments
// (torch.Stream.wait_event(1) reads outside the object), so the subclass wraps each of these
// methods.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// Makes a type that adds `slots` to `base` and has the same instance layout. `slots` must live as
/// long as the type and must have a Py_tp_dealloc that calls `dealloc_like`.
pybind11::object make_subclass(const std::string& qualified_name, PyTypeObject* base,
                               PyType_Slot* slots);

/// Deallocates `self` as `base` does, then drops the reference to its type that an instance of a
/// heap type holds: torch's deallocators are for static types and do not drop it.
void dealloc_like(PyTypeObject* base, PyObject* self);

/// Calls the `method` of `base` that a method of the subclass hides. Returns a new reference, or
/// null with a Python error set.
PyObject* call_base(PyTypeObject* base, const char* method, PyObject* self, PyObject* argument);

/// Returns ctypes.c_void_p(`address`), a new reference: the value of `_as_parameter_`, by which a
/// ctypes function accepts the object itself.
PyObject* as_void_pointer(pybind11::handle address);

/// Casts a METH_VARARGS | METH_KEYWORDS function to the type that PyMethodDef stores.
inline PyCFunction with_keywords(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

}  // namespace outback::python
