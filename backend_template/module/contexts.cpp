// The context managers torch.<name>.device, device_of and stream.
#include <c10/util/Exception.h>

#include <string>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/stream_type.h"
#include "backend_template/python/device_argument.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// What to return to is a stack, since one object may be entered again before it is left.
class device_context {
 public:
  explicit device_context(c10::DeviceIndex index) : index_(index) {}

  int index() const { return index_; }
  int previous() const { return previous_.empty() ? -1 : previous_.back(); }

  void enter() { previous_.push_back(index_ < 0 ? index_ : core::exchange_device(index_)); }

  void leave() {
    TORCH_CHECK(!previous_.empty(), "this context was not entered");
    core::set_device_unchecked(previous_.back());
    previous_.pop_back();
  }

 private:
  c10::DeviceIndex index_;  // -1: changes nothing
  std::vector<c10::DeviceIndex> previous_;
};

// A class of its own, since torch.cuda.device_of is one that derives from torch.cuda.device.
class device_of_context : public device_context {
 public:
  using device_context::device_context;
};

// The device of a tensor or a storage; -1 if it is not on this backend.
c10::DeviceIndex device_holding(py::handle object) {
  const py::object device = object.attr("device");
  const py::object type = device.attr("type");
  if (type.cast<std::string>() != backend_name()) return -1;
  return device_argument(device);
}

// Makes the stream current on its device, and that device current, as torch.cuda.StreamContext
// does.
class stream_context {
 public:
  explicit stream_context(py::object stream) : stream_(std::move(stream)) {
    if (!stream_.is_none()) unwrap_stream(stream_);
  }

  const py::object& stream() const { return stream_; }

  void enter() {
    if (stream_.is_none()) return;
    // Before the stream changes, so that push_back cannot fail after it.
    previous_.reserve(previous_.size() + 1);
    previous_.push_back(core::make_current(unwrap_stream(stream_)));
  }

  void leave() {
    if (stream_.is_none()) return;
    TORCH_CHECK(!previous_.empty(), "this context was not entered");
    const core::replaced_streams before = previous_.back();
    previous_.pop_back();
    core::restore(before);
  }

 private:
  py::object stream_;
  std::vector<core::replaced_streams> previous_;
};

template <class Context, class Class>
void add_with(Class& type) {
  // __enter__ returns None, as in torch.cuda; __exit__ returns False, so that exceptions go on.
  type.def("__enter__", [](Context& context) { context.enter(); });
  type.def("__exit__", [](Context& context, const py::args&) {
    context.leave();
    return false;
  });
}

}  // namespace

void define_contexts(function_scope& module) {
  py::class_<device_context> device(module, "device", py::module_local(),
                                    "Context manager: the device is this thread's inside it. A "
                                    "negative index changes nothing.");
  device.def(
      py::init([](py::handle index) { return device_context(device_argument_or_none(index)); }),
      py::arg("device"));
  device.def_property_readonly("idx", &device_context::index);
  device.def_property_readonly("prev_idx", &device_context::previous);
  add_with<device_context>(device);
  module.attr("_DeviceGuard") = device;

  py::class_<device_of_context, device_context>(
      module, "device_of", py::module_local(),
      "Context manager: the device of a tensor or storage is this thread's inside it. Changes "
      "nothing for one that is elsewhere.")
      .def(py::init([](py::handle object) { return device_of_context(device_holding(object)); }),
           py::arg("obj"));

  py::class_<stream_context> stream(module, "StreamContext", py::module_local(),
                                    "Context manager: the stream, and its device, are this "
                                    "thread's inside it. None changes nothing.");
  stream.def(py::init<py::object>(), py::arg("stream"));
  stream.def_property_readonly("stream", &stream_context::stream);
  add_with<stream_context>(stream);

  module.def(
      "stream", [](py::object stream) { return stream_context(std::move(stream)); },
      py::arg("stream"), py::doc("The context manager StreamContext(stream)."));
}

}  // namespace outback::python
