// The work at the end of the process that needs a working Python interpreter.
#pragma once

namespace outback::python {

/// Registers a function with Python's atexit. The function waits for replays of graphs, at most
/// five seconds, and makes autograd's threads drop their Python objects (at_exit.cpp says why). It
/// does not start the backend, and ignores device errors. Call this once, with the GIL held.
void register_exit_handler();

}  // namespace outback::python
