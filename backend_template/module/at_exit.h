// What has to be done while the interpreter is still whole.
#pragma once

namespace outback::python {

/// Registers the work with Python's atexit. With the GIL held, once.
void register_exit_handler();

}  // namespace outback::python
