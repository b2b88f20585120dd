// Python's GIL as the lock that core gives up where it waits (core/runtime/interpreter_lock.h).
#pragma once

namespace outback::python {

/// Lets core give up the GIL around its waits, also where torch has called with the GIL held. Once,
/// when the backend is registered.
void give_up_gil_in_waits();

}  // namespace outback::python
