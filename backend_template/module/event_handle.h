// Events of torch.<name> that two processes share.
#pragma once

#include <c10/core/Event.h>
#include <pybind11/pybind11.h>

#include <string_view>

namespace outback::python {

/// The bytes that name `event` to another process. One that was never recorded is made on the
/// current device first. Where the runtime's handles have a descriptor, the bytes say where it is:
/// the event is found as long as it lives here. Throws c10::NotImplementedError without the
/// runtime's group ipc; c10::ValueError unless the event was made for it.
pybind11::bytes export_event(c10::Event& event);

/// The event that `export_event` answered `handle` for in another process. Throws c10::ValueError
/// where that process does not show the event's descriptor.
c10::Event import_event(pybind11::handle device, std::string_view handle);

}  // namespace outback::python
