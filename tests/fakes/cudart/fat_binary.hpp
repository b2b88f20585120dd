// What a program's fat binary says about its kernels: the containers that nvcc links into it, with
// one image for each architecture, which are ELF files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/cudart/kernels.hpp"

namespace fake_cuda {

/// The parameters of each kernel, in their order, by the kernel's name.
using parameter_table = std::map<std::string, std::vector<parameter>, std::less<>>;

/// Those of one image: an ELF file in memory. Empty where it is none, as PTX.
parameter_table parameters_of_image(const void* image);
/// The parameters of the kernel of that name, in their order, from the first image that has it.
/// `wrapper` is what __cudaRegisterFatBinary got. Nothing where no image has the kernel, or the
/// images are compressed by a method that is unknown here.
std::optional<std::vector<parameter>> parameters_in(const void* wrapper, const std::string& symbol);

}  // namespace fake_cuda
