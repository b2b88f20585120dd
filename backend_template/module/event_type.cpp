#include "backend_template/module/event_type.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/csrc/Event.h>

#include <string>

#include "backend_template/module/stream_type.h"
#include "backend_template/module/subclass.h"
#include "outback/backend.h"
#include "registration/python/errors.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Event(enable_timing=False, blocking=False, interprocess=False), in torch.cuda.Event's order.
PyObject* event_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    int enable_timing = 0;
    int blocking = 0;
    int interprocess = 0;
    static const char* const names[] = {"enable_timing", "blocking", "interprocess", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|ppp:Event", const_cast<char**>(names),
                                     &enable_timing, &blocking, &interprocess)) {
      return nullptr;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(interprocess == 0, backend_name(),
                                ": Event(interprocess=True): this device's runtime has no ipc "
                                "group");
    using namespace py::literals;
    const py::dict named("device"_a = backend_name(), "enable_timing"_a = enable_timing != 0,
                         "blocking"_a = blocking != 0);
    return THPEventClass->tp_new(type, py::tuple().ptr(), named.ptr());
  });
}

c10::Event& event_of(PyObject* self) {
  return reinterpret_cast<THPEvent*>(self)->event;
}

PyObject* event_repr(PyObject* self) {
  return guarded([self] {
    const c10::Event& event = event_of(self);
    const std::string text =
        event.device_index() < 0
            ? fmt::format("<torch.{}.Event not recorded>", backend_name())
            : fmt::format("<torch.{}.Event device={}>", backend_name(), event.device().str());
    return PyUnicode_FromString(text.c_str());
  });
}

// record() and wait(): torch.Event's own take whatever they are given for a stream.
PyObject* with_stream(const char* method, PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject* stream = Py_None;
    static const char* const names[] = {"stream", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O", const_cast<char**>(names),
                                     &stream)) {
      return nullptr;
    }
    if (stream != Py_None) unwrap_stream(stream);
    return call_base(THPEventClass, method, self, stream);
  });
}

PyObject* event_record(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return with_stream("record", self, arguments, keywords);
}

PyObject* event_wait(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return with_stream("wait", self, arguments, keywords);
}

// Not torch.Event's own, which refuses subclasses.
PyObject* event_elapsed_time(PyObject* self, PyObject* end) {
  return guarded([&] {
    check_event(end);
    return PyFloat_FromDouble(event_of(self).elapsedTime(event_of(end)));
  });
}

PyMethodDef event_methods[] = {
    {"record", with_keywords(&event_record), METH_VARARGS | METH_KEYWORDS,
     "record($self, stream=None)\n--\n\n"
     "Marks this point in the stream's work; the current stream if None."},
    {"wait", with_keywords(&event_wait), METH_VARARGS | METH_KEYWORDS,
     "wait($self, stream=None)\n--\n\n"
     "What is enqueued on the stream from now on waits for this event; the current stream if "
     "None."},
    {"elapsed_time", &event_elapsed_time, METH_O,
     "elapsed_time($self, end_event, /)\n--\n\n"
     "Milliseconds from this event to the other. Both were made with enable_timing=True, recorded, "
     "and are complete."},
    {nullptr, nullptr, 0, nullptr}};

constexpr const char* event_doc =
    "Event(enable_timing=False, blocking=False, interprocess=False)\n--\n\n"
    "A point in a stream's work that can be waited for.\n\n"
    "Args:\n"
    "    enable_timing (bool): whether elapsed_time() can be asked\n"
    "    blocking (bool): a hint that synchronize() should sleep, not spin\n"
    "    interprocess (bool): not supported yet\n";

void event_dealloc(PyObject* self) {
  dealloc_like(THPEventClass, self);
}

PyType_Slot event_slots[] = {{Py_tp_new, reinterpret_cast<void*>(&event_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(&event_dealloc)},
                             {Py_tp_repr, reinterpret_cast<void*>(&event_repr)},
                             {Py_tp_methods, event_methods},
                             {Py_tp_doc, const_cast<char*>(event_doc)},
                             {0, nullptr}};

}  // namespace

py::object make_event_type(const std::string& qualified_module) {
  return make_subclass(qualified_module + ".Event", THPEventClass, event_slots);
}

void check_event(py::handle object) {
  TORCH_CHECK_TYPE(THPEvent_Check(object.ptr()), "expected a torch.Event, got ",
                   Py_TYPE(object.ptr())->tp_name);
}

}  // namespace outback::python
