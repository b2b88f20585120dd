#include "backend_template/module/event_type.h"

#include <c10/util/Exception.h>
#include <torch/csrc/Event.h>

#include <new>
#include <string>
#include <string_view>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/interfaces/guard.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/event_flag.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/event_handle.h"
#include "backend_template/module/stream_type.h"
#include "backend_template/module/subclass.h"
#include "backend_template/python/errors.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

c10::Event& event_of(PyObject* self) {
  return reinterpret_cast<THPEvent*>(self)->event;
}

// Fills the object as torch's own THPEvent_new does.
PyObject* new_event(PyTypeObject* type, c10::Event&& event) {
  PyObject* const object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  auto* const made = reinterpret_cast<THPEvent*>(object);
  new (&made->event) c10::Event(std::move(event));
  made->weakreflist = nullptr;
  return object;
}

// Event(enable_timing=False, blocking=False, interprocess=False, external=False), in
// torch.cuda.Event's order.
PyObject* event_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    int enable_timing = 0;
    int blocking = 0;
    int interprocess = 0;
    int external = 0;
    static const char* const names[] = {"enable_timing", "blocking", "interprocess", "external",
                                        nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|pppp:Event", const_cast<char**>(names),
                                     &enable_timing, &blocking, &interprocess, &external)) {
      return nullptr;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(external == 0, backend_name(),
                                ": Event(external=True): a runtime's graphs have no nodes that "
                                "record an event or wait for one (outback/runtime.h, graphs)");
    // Refused here and not at the first recording, where the driver makes the event.
    if (interprocess != 0) {
      if (core::runtime().ipc == nullptr) {
        core::refuse_absent("ipc", "Event(interprocess=True)");
      }
      TORCH_CHECK_VALUE(enable_timing == 0,
                        "an event between processes cannot measure time: expected "
                        "enable_timing=False with interprocess=True");
    }
    const uint32_t flags = (enable_timing != 0 ? uint32_t{OUTBACK_EVENT_TIMING} : 0) |
                           (blocking != 0 ? uint32_t{OUTBACK_EVENT_BLOCKING} : 0) |
                           (interprocess != 0 ? uint32_t{OUTBACK_EVENT_INTERPROCESS} : 0);
    return new_event(type, c10::Event(core::device_type, core::event_flag_of(flags)));
  });
}

PyObject* event_repr(PyObject* self) {
  return guarded([self] {
    const c10::Event& event = event_of(self);
    const std::string text =
        event.device_index() < 0
            ? core::format("<torch.{}.Event not recorded>", backend_name())
            : core::format("<torch.{}.Event device={}>", backend_name(), event.device().str());
    return PyUnicode_FromString(text.c_str());
  });
}

// The bodies of record() and wait(). torch.Event's own methods take any object for a stream, so the
// argument is checked here first.
PyObject* with_stream(const char* method, PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject* stream = Py_None;
    static const char* const names[] = {"stream", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O", const_cast<char**>(names),
                                     &stream)) {
      return nullptr;
    }
    if (stream == Py_None) return call_base(THPEventClass, method, self, stream);
    const py::object of_ours = wrap_stream(unwrap_stream(stream));
    return call_base(THPEventClass, method, self, of_ours.ptr());
  });
}

PyObject* event_record(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return with_stream("record", self, arguments, keywords);
}

PyObject* event_wait(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return with_stream("wait", self, arguments, keywords);
}

// Does not call torch.Event.elapsed_time, which refuses subclasses, nor c10::Event::elapsedTime,
// which takes the flag of an event with timing and another option for one without timing. The
// messages are those of c10.
PyObject* event_elapsed_time(PyObject* self, PyObject* end) {
  return guarded([&] {
    check_event(end);
    const c10::Event& from = event_of(self);
    const c10::Event& to = event_of(end);
    TORCH_CHECK_VALUE(to.device_type() == core::device_type, "expected an event of ",
                      backend_name(), ", got one of ", to.device_type());
    const auto timed = [](const c10::Event& event) {
      return (core::event_flags_in(event.flag()) & OUTBACK_EVENT_TIMING) != 0;
    };
    TORCH_CHECK_VALUE(timed(from) && timed(to),
                      "Both events must be created with argument 'enable_timing=True'.");
    TORCH_CHECK_VALUE(from.was_marked_for_recording() && to.was_marked_for_recording(),
                      "Both events must be recorded before calculating elapsed time.");
    const double milliseconds = [&] {
      const py::gil_scoped_release no_gil;
      TORCH_CHECK(from.query() && to.query(),
                  "Both events must be completed before calculating elapsed time.");
      return core::device_guard_impl().elapsedTime(from.eventId(), to.eventId(),
                                                   from.device_index());
    }();
    return PyFloat_FromDouble(milliseconds);
  });
}

// The bodies of ipc_handle() and from_ipc_handle() are in event_handle.cpp.
PyObject* event_ipc_handle(PyObject* self, PyObject* /*none*/) {
  return guarded([self] { return export_event(event_of(self)).release().ptr(); });
}

PyObject* event_from_ipc_handle(PyObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject* device = nullptr;
    PyObject* handle = nullptr;
    static const char* const names[] = {"device", "handle", nullptr};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OS:from_ipc_handle",
                                     const_cast<char**>(names), &device, &handle)) {
      return nullptr;
    }
    const std::string_view bytes = py::cast<std::string_view>(handle);
    return new_event(reinterpret_cast<PyTypeObject*>(type), import_event(device, bytes));
  });
}

// Returns 0 before the first recording, as torch.cuda.Event.cuda_event does.
PyObject* event_native_handle(PyObject* self, void* /*closure*/) {
  return guarded([self] {
    const core::event* const held = core::event_in(event_of(self));
    return PyLong_FromVoidPtr(held == nullptr ? nullptr : core::native_event(*held));
  });
}

// Lets a ctypes function take the event itself.
PyObject* event_as_parameter(PyObject* self, void* /*closure*/) {
  return guarded([self] { return as_void_pointer(py::handle(self).attr("native_handle")); });
}

// These replace torch.Event's methods of the same names; query, synchronize and the rest are
// inherited.
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
    {"ipc_handle", &event_ipc_handle, METH_NOARGS,
     "ipc_handle($self)\n--\n\n"
     "Bytes with which another process opens this event, which was made with interprocess=True. "
     "One that was never recorded goes to the current device."},
    {"from_ipc_handle", with_keywords(&event_from_ipc_handle),
     METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "from_ipc_handle($type, device, handle)\n--\n\n"
     "The event of another process that answered these bytes to ipc_handle(), on the device."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef event_properties[] = {
    {"native_handle", &event_native_handle, nullptr,
     "The driver's own event as an int; 0 before it is recorded. It may be another one after each "
     "recording.",
     nullptr},
    {"_as_parameter_", &event_as_parameter, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

constexpr const char* event_doc =
    "Event(enable_timing=False, blocking=False, interprocess=False, external=False)\n--\n\n"
    "A point in a stream's work that can be waited for.\n\n"
    "Args:\n"
    "    enable_timing (bool): whether elapsed_time() can be asked\n"
    "    blocking (bool): a hint that synchronize() should sleep, not spin\n"
    "    interprocess (bool): whether ipc_handle() can be asked; excludes enable_timing\n"
    "    external (bool): not supported\n";

void event_dealloc(PyObject* self) {
  dealloc_like(THPEventClass, self);
}

PyType_Slot event_slots[] = {{Py_tp_new, reinterpret_cast<void*>(&event_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(&event_dealloc)},
                             {Py_tp_repr, reinterpret_cast<void*>(&event_repr)},
                             {Py_tp_methods, event_methods},
                             {Py_tp_getset, event_properties},
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
