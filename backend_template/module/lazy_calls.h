// What has been asked for before the backend was started, and has to wait until it is.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Whether calls are queued, or run at this moment. Under the GIL, as all of this file.
bool has_lazy_calls();

/// The calling thread is inside of one that `run_lazy_calls` runs.
bool is_in_lazy_call();

/// Runs what is queued, in order. One that fails becomes torch.<name>.DeferredCallError, which
/// shows where it was queued; then all of them stay queued. Another thread's run is waited for.
void run_lazy_calls();

/// Adds _lazy_call and DeferredCallError.
void define_lazy_calls(pybind11::module_& module);

}  // namespace outback::python
