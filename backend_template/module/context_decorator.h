// Lets a context manager made with pybind11 decorate functions too, as those of contextlib do.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace outback::python {

/// Makes the instances of `type`, a pybind11::class_, usable as decorators. Each call of a
/// decorated function runs in the context that `again(instance)` returns: a new one, so that calls
/// may nest.
template <class Class, class Again>
void add_decorator(Class& type, Again&& again) {
  // contextlib's own method, which calls _recreate_cm for the context of each call.
  type.attr("__call__") =
      pybind11::module_::import("contextlib").attr("ContextDecorator").attr("__call__");
  type.def("_recreate_cm", std::forward<Again>(again));
}

}  // namespace outback::python
