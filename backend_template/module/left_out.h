// The names of torch.cuda that the device module does not have, and why. A user who ports code from
// CUDA sees the reason in the AttributeError.
#pragma once

#include <string_view>

namespace outback::python {

/// Returns why torch.<name> has no `attribute`, as the end of a sentence; "" for a name that
/// torch.cuda does not have either. The text lives as long as the process.
std::string_view why_left_out(std::string_view attribute);

}  // namespace outback::python
