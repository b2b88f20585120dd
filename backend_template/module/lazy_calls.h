// Calls that were requested before the backend was started and wait for its start: what
// torch.cuda._lazy_call is to CUDA. All functions here need the GIL, which guards the queue.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// True while calls are queued, or queued calls are running.
bool has_lazy_calls();

/// True if the calling thread is inside a call that `run_lazy_calls` runs. Such a call may use the
/// device: starting the backend again, and waiting for its own end, would be a deadlock.
bool is_in_lazy_call();

/// Runs the queued calls in their order, and waits if another thread is running them. If a call
/// raises an Exception, throws torch.<name>.DeferredCallError with the stack where the call was
/// queued; then all calls stay queued. Calls that are queued meanwhile run too. Releases the GIL
/// while it waits.
void run_lazy_calls();

/// Adds _lazy_call and DeferredCallError to the device module. Once, before `run_lazy_calls`.
void define_lazy_calls(pybind11::module_& module);

}  // namespace outback::python
