// The streams and events of torch.<name>: the classes, and the functions about the current stream.
#include <c10/util/Exception.h>

#include <chrono>
#include <thread>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/host_callback.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/event_type.h"
#include "backend_template/module/stream_type.h"
#include "backend_template/python/device_argument.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

void set_stream(py::handle stream) {
  if (!stream.is_none()) core::make_current(unwrap_stream(stream));
}

// torch.compile names a stream by these three numbers.
void set_stream_by_id(int64_t id, int64_t device_index, int64_t device_type) {
  check_stream_numbers(device_index, device_type);
  core::make_current(c10::Stream::unpack3(id, static_cast<c10::DeviceIndex>(device_index),
                                          static_cast<c10::DeviceType>(device_type)));
}

py::object get_stream_from_external(py::handle pointer, py::handle device) {
  return wrap_stream(external_stream(pointer, device));
}

// torch.cuda._sleep launches a kernel that spins. Runtimes have no such kernel in common, so a host
// callback in the stream sleeps instead, one nanosecond for each cycle.
void sleep_on_stream(int64_t cycles) {
  TORCH_CHECK_VALUE(cycles >= 0, "_sleep: expected a number of cycles, 0 or more, got ", cycles);
  start_from_python();
  if (core::runtime().callbacks == nullptr) core::refuse_absent("callbacks", "_sleep");
  const py::gil_scoped_release no_gil;
  core::enqueue_host_callback(
      core::current_stream(-1),
      [duration = std::chrono::nanoseconds(cycles)] { std::this_thread::sleep_for(duration); });
}

// Does not start the backend: if it was never started, nothing is captured.
bool is_current_stream_capturing() {
  return core::device_count() > 0 &&
         core::capture_status(core::current_stream(-1)) != OUTBACK_CAPTURE_NONE;
}

}  // namespace

void define_streams(function_scope& module) {
  const std::string qualified_module = "torch." + backend_name();
  module.attr("Stream") = make_stream_type(qualified_module);
  module.attr("ExternalStream") = make_external_stream_type(qualified_module);
  module.attr("Event") = make_event_type(qualified_module);

  module.def(
      "current_stream",
      [](py::handle device) { return wrap_stream(core::current_stream(device_argument(device))); },
      py::arg("device") = py::none(), py::doc("This thread's stream on the device."));
  module.def(
      "default_stream",
      [](py::handle device) { return wrap_stream(core::default_stream(device_argument(device))); },
      py::arg("device") = py::none(), py::doc("The device's default stream."));
  module.def(
      "set_stream", &set_stream, py::arg("stream"),
      py::doc("Makes the stream, and its device, this thread's; None changes nothing. Prefer the "
              "context manager `stream`."));
  module.def(
      "get_stream_from_external", &get_stream_from_external, py::arg("data_ptr"),
      py::arg("device") = py::none(),
      py::doc("A Stream for a stream of the driver's that somebody else made, and keeps alive."));
  module.def("is_current_stream_capturing", &is_current_stream_capturing,
             py::doc("Whether the current stream's work goes into a graph instead of being run."));
  module.def(
      "_sleep", &sleep_on_stream, py::arg("cycles"),
      py::doc("Keeps the current stream busy for so many nanoseconds; other streams go on, unless "
              "they run host callbacks too."));
  module.def(
      "get_sync_debug_mode", [] { return static_cast<int>(core::get_sync_debug_mode()); },
      py::doc("The mode that `set_sync_debug_mode` set: 0, 1 or 2."));
  module.def("_set_stream_by_id", &set_stream_by_id, py::arg("stream_id"), py::arg("device_index"),
             py::arg("device_type"));
}

}  // namespace outback::python
