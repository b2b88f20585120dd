// torch.<name>.Event: a torch.Event, so that torch.compile knows it for what it is.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// Makes the class, once. `qualified_module` is "torch.<name>".
pybind11::object make_event_type(const std::string& qualified_module);

/// Throws c10::TypeError unless `object` is a torch.Event.
void check_event(pybind11::handle object);

}  // namespace outback::python
