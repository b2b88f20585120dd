// Events of torch.<name> that two processes share.
#pragma once

#include <c10/core/Event.h>
#include <pybind11/pybind11.h>

#include <string_view>

namespace outback::python {

/// The bytes that name `event` to another process. One that was never recorded is made on the
/// current device first. Throws c10::NotImplementedError without the runtime's group ipc, or where
/// its handles need a descriptor too; c10::ValueError unless the event was made for it.
pybind11::bytes export_event(c10::Event& event);

/// The event that `export_event` answered `handle` for in another process.
c10::Event import_event(pybind11::handle device, std::string_view handle);

}  // namespace outback::python
