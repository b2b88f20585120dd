#include "backend_template/python/device_argument.h"

#include <c10/util/Exception.h>
#include <torch/csrc/Device.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/device_index.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// True for an int and for objects that stand for one, such as numpy.int64. Not for a bool: to
// Python it is an int, but as a device it is a mistake.
bool is_integer(py::handle object) {
  return PyIndex_Check(object.ptr()) != 0 && !PyBool_Check(object.ptr());
}

[[noreturn]] void refuse_type(py::handle object) {
  const std::string& name = backend_name();
  TORCH_CHECK_TYPE(false, "expected a device as an int, \"", name, "\", \"", name,
                   ":<index>\", a torch.device or None, got ", Py_TYPE(object.ptr())->tp_name);
  __builtin_unreachable();
}

py::int_ as_int(py::handle object) {
  auto number = py::reinterpret_steal<py::int_>(PyNumber_Index(object.ptr()));
  if (number) return number;
  // Some objects have __index__ and are no integer, such as a tensor of several elements.
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
  PyErr_Clear();
  refuse_type(object);
}

c10::DeviceIndex from_int(const py::int_& number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) core::refuse_index(std::string(py::str(py::handle(number))));
  return normalize_device(int64_t{value});
}

std::string_view as_text(py::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw py::error_already_set();
  return {data, static_cast<size_t>(size)};
}

const c10::Device& as_device(py::handle object) {
  return reinterpret_cast<THPDevice*>(object.ptr())->device;
}

}  // namespace

c10::DeviceIndex device_argument(py::handle device, device_rules rules) {
  PyObject* const object = device.ptr();
  if (object == nullptr || object == Py_None) return normalize_device(std::nullopt, rules);
  if (THPDevice_Check(object)) return normalize_device(std::optional(as_device(device)), rules);
  if (PyUnicode_Check(object)) return normalize_device(as_text(device), rules);
  if (is_integer(device)) return from_int(as_int(device));
  refuse_type(device);
}

c10::DeviceIndex device_argument_or_none(py::handle device) {
  if (is_integer(device)) {
    const py::int_ number = as_int(device);
    return number < py::int_(0) ? c10::DeviceIndex{-1} : from_int(number);
  }
  return device_argument(device);
}

int64_t unchecked_device_argument(py::handle device, device_rules rules) {
  if (PyUnicode_Check(device.ptr())) return core::read_device(as_text(device), rules);
  if (THPDevice_Check(device.ptr())) {
    const c10::Device& given = as_device(device);
    if (given.type() == core::device_type && given.has_index()) return given.index();
  }
  return device_argument(device, rules);
}

py::object make_device(c10::DeviceIndex index) {
  PyObject* device = THPDevice_New(c10::Device(core::device_type, index));
  if (device == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(device);
}

}  // namespace outback::python
