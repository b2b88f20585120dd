// Makes Python's GIL the lock that core releases while it waits (core/runtime/interpreter_lock.h).
#pragma once

namespace outback::python {

/// Makes core release the GIL around its waits if torch called it with the GIL held. Registration
/// calls it once.
void give_up_gil_in_waits();

}  // namespace outback::python
