// Names of torch.cuda that the device module has not got, and why.
#pragma once

#include <string_view>

namespace outback::python {

/// What to say of `attribute` beside that it is not there; "" for a name that torch.cuda does not
/// have either.
std::string_view why_left_out(std::string_view attribute);

}  // namespace outback::python
