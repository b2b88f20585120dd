#include "backend_template/module/stream_type.h"

#include <c10/util/Exception.h>
#include <torch/csrc/Stream.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/interfaces/guard.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/event_type.h"
#include "backend_template/module/subclass.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/errors.h"
#include "backend_template/python/imported.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

PyTypeObject* stream_type = nullptr;  // leaked

c10::Stream stream_of(PyObject* self) {
  const auto* object = reinterpret_cast<THPStream*>(self);
  return c10::Stream::unpack3(object->stream_id,
                              static_cast<c10::DeviceIndex>(object->device_index),
                              static_cast<c10::DeviceType>(object->device_type));
}

// Fills the object as torch's own constructor does: a stream is three numbers.
PyObject* new_object(PyTypeObject* type, const c10::Stream& stream) {
  PyObject* const object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  auto* const made = reinterpret_cast<THPStream*>(object);
  made->stream_id = stream.id();
  made->device_index = static_cast<int64_t>(stream.device_index());
  made->device_type = static_cast<int64_t>(stream.device_type());
  return object;
}

// PyTorch's own class for the twin's streams, torch.cuda.Stream say; nothing if it has none.
std::optional<py::object> twins_class(c10::DeviceType type) {
  const std::string name = c10::DeviceTypeName(type, /*lower_case=*/true);
  const py::object module = py::getattr(import_module("torch"), name.c_str(), py::none());
  if (module.is_none()) return std::nullopt;
  return module.attr("Stream");
}

// The stream of ours that is the same as `stream`, a twin's.
std::optional<c10::Stream> ours_for(const c10::Stream& stream) {
  if (core::known_twin_type() != stream.device_type()) return std::nullopt;
  const auto device = core::device_of_twin(stream.device());
  if (!device) return std::nullopt;
  return core::stream_of(stream, *device);
}

// One of the numbers by which torch.Stream's constructor names a stream.
int64_t number_of(PyObject* keywords, const char* name) {
  PyObject* const value = PyDict_GetItemString(keywords, name);
  return value == nullptr ? 0 : py::handle(value).cast<int64_t>();
}

// Stream(device=None, priority=0) makes a stream. Stream(stream_id=, device_index=, device_type=)
// names one that exists, as torch.Stream's constructor does.
PyObject* stream_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (keywords != nullptr && PyDict_GetItemString(keywords, "stream_id") != nullptr) {
      auto object =
          py::reinterpret_steal<py::object>(THPStreamClass->tp_new(type, arguments, keywords));
      if (!object) return nullptr;
      // Refuses a stream of another device type.
      const c10::Stream named = unwrap_stream(object);
      if (named != stream_of(object.ptr())) return new_object(type, named);
      check_stream_numbers(number_of(keywords, "device_index"), number_of(keywords, "device_type"));
      return object.release().ptr();
    }
    PyObject* device = Py_None;
    int priority = 0;
    static const char* const names[] = {"device", "priority", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|Oi:Stream", const_cast<char**>(names),
                                     &device, &priority)) {
      return nullptr;
    }
    const c10::DeviceIndex index = device_argument_or_none(device);
    start_from_python();
    const c10::Stream stream = [&] {
      const py::gil_scoped_release no_gil;
      return core::new_stream(index, priority);
    }();
    return new_object(type, stream);
  });
}

PyObject* stream_repr(PyObject* self) {
  return guarded([self] {
    const c10::Stream stream = stream_of(self);
    const std::string text = core::format("<torch.{}.Stream device={} stream_id={}>",
                                          backend_name(), stream.device().str(), stream.id());
    return PyUnicode_FromString(text.c_str());
  });
}

// torch.Stream's own comparison takes any object for a stream.
PyObject* stream_compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || !THPStream_Check(other)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const bool equal = stream_of(self) == stream_of(other);
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

// A type that defines a comparison loses its base's hash, so this gives it back.
Py_hash_t stream_hash(PyObject* self) {
  return THPStreamClass->tp_hash(self);
}

// torch.Stream's own wait_event and wait_stream do not check their argument.
PyObject* stream_wait_event(PyObject* self, PyObject* event) {
  return guarded([&] {
    check_event(event);
    return call_base(THPStreamClass, "wait_event", self, event);
  });
}

PyObject* stream_wait_stream(PyObject* self, PyObject* other) {
  return guarded([&] {
    TORCH_CHECK_TYPE(THPStream_Check(other), "expected a torch.Stream, got ",
                     Py_TYPE(other)->tp_name);
    const auto same = ours_for(stream_of(other));
    const py::object of_ours = same ? wrap_stream(*same) : py::object();
    return call_base(THPStreamClass, "wait_stream", self, same ? of_ours.ptr() : other);
  });
}

// Makes a torch.<name>.Event where torch.Stream would make a torch.Event. torch.Stream's own method
// refuses subclasses of torch.Event.
PyObject* stream_record_event(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject* event = Py_None;
    static const char* const names[] = {"event", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:record_event",
                                     const_cast<char**>(names), &event)) {
      return nullptr;
    }
    py::object recorded = py::reinterpret_borrow<py::object>(event);
    if (recorded.is_none()) {
      recorded = import_module(("torch." + backend_name()).c_str()).attr("Event")();
    }
    check_event(recorded);
    recorded.attr("record")(py::handle(self));
    return recorded.release().ptr();
  });
}

// What `with stream:` returns to. One list for each thread, since several threads may enter one
// object at the same time; a stack, since a stream may be entered again before it is left.
struct entered_stream {
  c10::Stream stream;
  core::replaced_streams before;
};
thread_local std::vector<entered_stream> entered_streams;

// torch.Stream's own __enter__ does not change the device if the stream is current on its device.
PyObject* stream_enter(PyObject* self, PyObject* /*none*/) {
  return guarded([self]() -> PyObject* {
    const c10::Stream stream = stream_of(self);
    // Before the stream changes, so that push_back cannot fail after it.
    entered_streams.reserve(entered_streams.size() + 1);
    entered_streams.push_back({stream, core::make_current(stream)});
    return Py_NewRef(self);
  });
}

PyObject* stream_exit(PyObject* self, PyObject* /*exception*/) {
  return guarded([self]() -> PyObject* {
    // The innermost entry of this stream, even if another stream was entered later and not left
    // yet.
    const auto last =
        std::find_if(entered_streams.rbegin(), entered_streams.rend(),
                     [&](const auto& entered) { return entered.stream == stream_of(self); });
    TORCH_CHECK(last != entered_streams.rend(), "this thread has not entered this stream");
    const core::replaced_streams before = last->before;
    entered_streams.erase(std::next(last).base());
    core::restore(before);
    Py_RETURN_NONE;
  });
}

PyObject* stream_is_capturing(PyObject* self, PyObject* /*none*/) {
  return guarded([self] {
    return PyBool_FromLong(core::capture_status(stream_of(self)) != OUTBACK_CAPTURE_NONE);
  });
}

// Defined here too, since torch.Stream has native_handle only from 2.13 on.
PyObject* stream_native_handle(PyObject* self, void* /*closure*/) {
  return guarded([self] {
    return PyLong_FromVoidPtr(core::device_guard_impl().getStreamNativeHandle(stream_of(self)));
  });
}

PyObject* stream_priority(PyObject* self, void* /*closure*/) {
  return guarded([self]() -> PyObject* {
    const c10::Stream stream = stream_of(self);
    const auto theirs = core::twins_stream(stream);
    const auto type = theirs ? twins_class(theirs->device_type()) : std::nullopt;
    if (!type) return PyLong_FromLong(core::priority_of(stream));
    // c10 has no question for it.
    const auto [id, index, number] = theirs->pack3();
    using namespace py::literals;
    const py::object same = (*type)("stream_id"_a = id, "device_index"_a = static_cast<int>(index),
                                    "device_type"_a = static_cast<int>(number));
    return py::object(same.attr("priority")).release().ptr();
  });
}

PyObject* stream_as_parameter(PyObject* self, void* /*closure*/) {
  return guarded([self] { return as_void_pointer(py::handle(self).attr("native_handle")); });
}

PyObject* stream_priority_range(PyObject* /*type*/, PyObject* /*none*/) {
  return guarded([]() -> PyObject* {
    start_from_python();
    const auto twin = core::twin_of(core::current_device());
    const auto type = twin ? twins_class(twin->type()) : std::nullopt;
    if (type) return type->attr("priority_range")().release().ptr();
    return py::cast(core::priority_range(core::current_device())).release().ptr();
  });
}

// These replace or extend torch.Stream's methods; query, synchronize and the rest are inherited.
PyMethodDef stream_methods[] = {
    {"wait_event", &stream_wait_event, METH_O,
     "wait_event($self, event, /)\n--\n\n"
     "What is enqueued from now on waits for the event. Does not wait itself."},
    {"wait_stream", &stream_wait_stream, METH_O,
     "wait_stream($self, stream, /)\n--\n\n"
     "What is enqueued from now on waits for what the other stream holds now."},
    {"record_event", with_keywords(&stream_record_event), METH_VARARGS | METH_KEYWORDS,
     "record_event($self, event=None)\n--\n\nRecords the event, or a new one, and returns it."},
    {"__enter__", &stream_enter, METH_NOARGS,
     "__enter__($self)\n--\n\nMakes the stream, and its device, this thread's."},
    {"__exit__", &stream_exit, METH_VARARGS,
     "__exit__($self, *exception)\n--\n\nGoes back to the stream and the device before."},
    {"is_capturing", &stream_is_capturing, METH_NOARGS,
     "is_capturing($self)\n--\n\n"
     "Whether the stream's work goes into a graph instead of being run."},
    {"priority_range", &stream_priority_range, METH_NOARGS | METH_STATIC,
     "priority_range()\n--\n\nThe least and the greatest priority; the greatest is the lower "
     "number."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef stream_properties[] = {
    {"native_handle", &stream_native_handle, nullptr, "The driver's own stream as an int.",
     nullptr},
    {"priority", &stream_priority, nullptr,
     "What the stream was made with, within priority_range(); lower is more urgent.", nullptr},
    {"_as_parameter_", &stream_as_parameter, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

constexpr const char* stream_doc =
    "Stream(device=None, priority=0)\n--\n\n"
    "A queue of work: what is enqueued runs in that order, independently of other streams.\n\n"
    "Args:\n"
    "    device (int, str or torch.device, optional): the current device if None\n"
    "    priority (int): lower is more urgent; clamped to what the device has\n";

void stream_dealloc(PyObject* self) {
  dealloc_like(THPStreamClass, self);
}

PyType_Slot stream_slots[] = {{Py_tp_new, reinterpret_cast<void*>(&stream_new)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(&stream_dealloc)},
                              {Py_tp_repr, reinterpret_cast<void*>(&stream_repr)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(&stream_compare)},
                              {Py_tp_hash, reinterpret_cast<void*>(&stream_hash)},
                              {Py_tp_methods, stream_methods},
                              {Py_tp_getset, stream_properties},
                              {Py_tp_doc, const_cast<char*>(stream_doc)},
                              {0, nullptr}};

// ExternalStream(stream_ptr, device=None)
PyObject* external_stream_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject* pointer = nullptr;
    PyObject* device = Py_None;
    static const char* const names[] = {"stream_ptr", "device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O:ExternalStream",
                                     const_cast<char**>(names), &pointer, &device)) {
      return nullptr;
    }
    return new_object(type, external_stream(pointer, device));
  });
}

constexpr const char* external_stream_doc =
    "ExternalStream(stream_ptr, device=None)\n--\n\n"
    "A Stream for a stream of the driver's that somebody else made, and keeps alive.\n\n"
    "Args:\n"
    "    stream_ptr (int): the driver's handle\n"
    "    device (int, str or torch.device, optional): where it was made; the current device if "
    "None\n";

PyType_Slot external_stream_slots[] = {{Py_tp_new, reinterpret_cast<void*>(&external_stream_new)},
                                       {Py_tp_dealloc, reinterpret_cast<void*>(&stream_dealloc)},
                                       {Py_tp_doc, const_cast<char*>(external_stream_doc)},
                                       {0, nullptr}};

}  // namespace

c10::Stream external_stream(py::handle pointer, py::handle device) {
  TORCH_CHECK_TYPE(PyLong_Check(pointer.ptr()), "expected the driver's handle as an int, got ",
                   Py_TYPE(pointer.ptr())->tp_name);
  const c10::DeviceIndex index = device_argument_or_none(device);
  void* const handle = PyLong_AsVoidPtr(pointer.ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  start_from_python();
  const py::gil_scoped_release no_gil;
  return core::wrap_native_stream(index, handle);
}

py::object make_stream_type(const std::string& qualified_module) {
  py::object type = make_subclass(qualified_module + ".Stream", THPStreamClass, stream_slots);
  stream_type = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
  return type;
}

py::object make_external_stream_type(const std::string& qualified_module) {
  return make_subclass(qualified_module + ".ExternalStream", stream_type, external_stream_slots);
}

void check_stream_numbers(int64_t device_index, int64_t device_type) {
  TORCH_CHECK_VALUE(device_type == static_cast<int64_t>(core::device_type), "expected a stream of ",
                    backend_name(), ", whose device type is ", static_cast<int>(core::device_type),
                    ", got one of device type ", device_type);
  normalize_device(device_index);
}

py::object wrap_stream(const c10::Stream& stream) {
  PyObject* const object = new_object(stream_type, stream);
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

c10::Stream unwrap_stream(py::handle object) {
  TORCH_CHECK_TYPE(THPStream_Check(object.ptr()), "expected a torch.", backend_name(),
                   ".Stream, got ", Py_TYPE(object.ptr())->tp_name);
  const c10::Stream stream = stream_of(object.ptr());
  if (const auto same = ours_for(stream)) return *same;
  TORCH_CHECK_VALUE(stream.device_type() == core::device_type, "expected a stream of ",
                    backend_name(), ", got one of ", stream.device());
  return stream;
}

}  // namespace outback::python
