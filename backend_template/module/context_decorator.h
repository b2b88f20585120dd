// Context managers that decorate functions too, as those of contextlib do.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace outback::python {

/// Makes instances of `type` decorators: each call of the decorated function is run in the context
/// that `again(instance)` answers.
template <class Class, class Again>
void add_decorator(Class& type, Again&& again) {
  // contextlib's own method, which asks _recreate_cm for the context of a call.
  type.attr("__call__") =
      pybind11::module_::import("contextlib").attr("ContextDecorator").attr("__call__");
  type.def("_recreate_cm", std::forward<Again>(again));
}

}  // namespace outback::python
