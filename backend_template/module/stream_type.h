// torch.<name>.Stream: a torch.Stream, so that torch.compile knows it for what it is.
#pragma once

#include <c10/core/Stream.h>
#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// Makes the class, once. `qualified_module` is "torch.<name>".
pybind11::object make_stream_type(const std::string& qualified_module);

/// Makes its subclass ExternalStream, once, after make_stream_type.
pybind11::object make_external_stream_type(const std::string& qualified_module);

/// The stream that stands for the driver's handle `pointer`, an int. Throws
/// c10::NotImplementedError without the runtime's group native.
c10::Stream external_stream(pybind11::handle pointer, pybind11::handle device);

/// A new Stream of ours for a stream of core. After make_stream_type.
pybind11::object wrap_stream(const c10::Stream& stream);

/// The stream behind any torch.Stream of this device. Throws c10::TypeError or c10::ValueError.
c10::Stream unwrap_stream(pybind11::handle object);

}  // namespace outback::python
