// Numbers the lines of Python from which calls come, for the operator report.
#pragma once

#include <cstdint>
#include <string>

namespace outback::python {

/// Returns the number of the innermost line of Python in the calling thread outside torch's
/// sources, or 0 if the thread runs no Python, as in autograd's threads. Acquires the GIL. Serves
/// as ops::place_of_caller.
uint32_t number_of_place();

/// Returns the text of a number, such as "train.py:12", or "" for 0. Needs the GIL.
std::string text_of_place(uint32_t number);

}  // namespace outback::python
