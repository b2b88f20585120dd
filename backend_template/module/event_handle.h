// Events of torch.<name> that two processes share: Event.ipc_handle and Event.from_ipc_handle.
// Internal to module/. Both functions need the GIL, which they release while they call slots, and
// start the backend.
#pragma once

#include <c10/core/Event.h>
#include <pybind11/pybind11.h>

#include <string_view>

namespace outback::python {

/// Returns the bytes with which another process opens `event`. An event that was never recorded is
/// first made on the current device. If the runtime's handles have a file descriptor, the bytes say
/// where it is, and another process can take it as long as this process keeps the event.
///
/// Throws c10::ValueError unless the event was made with interprocess=True, and
/// c10::NotImplementedError if the runtime has no group ipc.
pybind11::bytes export_event(c10::Event& event);

/// Returns the event of another process for which `export_event` returned `handle` there, on
/// `device` (a device argument of Python). Throws c10::ValueError for bytes of a wrong length, and
/// if this process cannot take the event's descriptor from the other one.
c10::Event import_event(pybind11::handle device, std::string_view handle);

}  // namespace outback::python
