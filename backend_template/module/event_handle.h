// Events of torch.<name> that two processes share: Event.ipc_handle and Event.from_ipc_handle.
// Internal to module/. Both functions start the backend. Call them with the GIL held; they release
// it while they call slots.
#pragma once

#include <c10/core/Event.h>
#include <pybind11/pybind11.h>

#include <string_view>

namespace outback::python {

/// Returns the bytes with which another process opens `event`. If the event was never recorded,
/// first creates it on the current device. If the runtime's handles have a file descriptor, the
/// bytes say where to find it; another process can take the descriptor as long as this process
/// keeps the event.
///
/// Throws c10::ValueError unless the event was made with interprocess=True, and
/// c10::NotImplementedError if the runtime has no group ipc.
pybind11::bytes export_event(c10::Event& event);

/// Opens the event for which `export_event` returned `handle` in another process, on `device` (a
/// device argument of Python). Throws c10::ValueError for bytes of a wrong length, and if this
/// process cannot take the event's descriptor from the other process.
c10::Event import_event(pybind11::handle device, std::string_view handle);

}  // namespace outback::python
