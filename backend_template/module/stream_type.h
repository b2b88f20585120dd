// torch.<name>.Stream: a torch.Stream, so that torch.compile knows it for what it is.
#pragma once

#include <c10/core/Stream.h>
#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// Makes the class, once. `qualified_module` is "torch.<name>".
pybind11::object make_stream_type(const std::string& qualified_module);

/// A new Stream of ours for a stream of core. After make_stream_type.
pybind11::object wrap_stream(const c10::Stream& stream);

/// The stream behind any torch.Stream of this device. Throws c10::TypeError or c10::ValueError.
c10::Stream unwrap_stream(pybind11::handle object);

}  // namespace outback::python
