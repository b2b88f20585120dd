// What must be done at the end of the process while the interpreter is still whole.
#pragma once

namespace outback::python {

/// Registers the work with Python's atexit: it waits for replays of graphs, at most five seconds,
/// and lets autograd's threads drop the Python objects that they hold (at_exit.cpp says why). Once,
/// with the GIL held. The work itself starts nothing, and ignores errors of a device.
void register_exit_handler();

}  // namespace outback::python
