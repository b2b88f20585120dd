// torch.<name>.Stream, a subclass of torch.Stream, so that torch.compile treats it as one, and the
// conversion between its objects and c10::Stream. Internal to module/; call all functions with the
// GIL held.
#pragma once

#include <c10/core/Stream.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

namespace outback::python {

/// Makes the class. Call it once. `qualified_module` is "torch.<name>".
pybind11::object make_stream_type(const std::string& qualified_module);

/// Makes its subclass ExternalStream. Call it once, after make_stream_type.
pybind11::object make_external_stream_type(const std::string& qualified_module);

/// Returns the stream for `pointer`, an int that is the driver's handle of a stream on `device` (a
/// device argument of Python). The driver's stream still belongs to its maker, who must keep it
/// alive. The same handle always gives the same stream. Starts the backend. Throws c10::TypeError
/// unless `pointer` is an int, and c10::NotImplementedError if the runtime has no group native.
c10::Stream external_stream(pybind11::handle pointer, pybind11::handle device);

/// Checks two of the three numbers that name a stream in Python, before they are cut to 8 bits for
/// torch. Throws c10::ValueError for another device type and c10::AcceleratorError for a device
/// that does not exist.
void check_stream_numbers(int64_t device_index, int64_t device_type);

/// Returns a new torch.<name>.Stream for `stream`. Call make_stream_type first.
pybind11::object wrap_stream(const c10::Stream& stream);

/// Returns the stream of `object`, any torch.Stream of this device. For a torch.Stream of the twin
/// (core/twin/twin.h), returns this device's name for the same stream. Throws c10::TypeError for
/// another object and c10::ValueError for a stream of another device type. Does not check that the
/// stream's id exists; core checks it when the stream is used.
c10::Stream unwrap_stream(pybind11::handle object);

}  // namespace outback::python
