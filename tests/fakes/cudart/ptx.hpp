// CUDA's assembly language, as far as a launch needs it: which kernels a text has, and their
// parameters. Nothing of it is compiled.
#pragma once

#include <string_view>

#include "tests/fakes/cudart/fat_binary.hpp"

namespace fake_cuda {

/// The parameters of each kernel, by its name. Throws a refusal where the text does not begin with
/// .version, or a kernel's head is none.
parameter_table parameters_of_ptx(std::string_view text);

}  // namespace fake_cuda
