// Where in the program's Python a call comes from, as numbers: for the operator report.
#pragma once

#include <cstdint>
#include <string>

namespace outback::python {

/// Returns the number of the innermost line of Python in the calling thread that is not of torch's
/// sources; 0 if the thread runs no Python, as autograd's do. Acquires the GIL. An
/// ops::place_of_caller.
uint32_t number_of_place();

/// Returns "train.py:12" for a number; "" for 0. Needs the GIL.
std::string text_of_place(uint32_t number);

}  // namespace outback::python
