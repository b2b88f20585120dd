// torch.<name>.Event, a subclass of torch.Event, so that torch.compile treats it as one. Internal
// to module/; call both functions with the GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// Makes the class. Call it once. `qualified_module` is "torch.<name>".
pybind11::object make_event_type(const std::string& qualified_module);

/// Throws c10::TypeError (Python: TypeError) unless `object` is a torch.Event.
void check_event(pybind11::handle object);

}  // namespace outback::python
