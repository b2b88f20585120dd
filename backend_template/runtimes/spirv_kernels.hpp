// Reads from a SPIR-V module what its kernels are called and which parameters they have. Drivers
// tell less: how many parameters there are, but not which one is local memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outback {

/// A parameter of a kernel, as a launch has to give it.
struct spirv_parameter {
  enum class sort {
    value,   // bytes: a number or a struct
    memory,  // a pointer to memory of the device
    local,   // a pointer to local memory, of which a launch gives the size
    other    // an image or a sampler, which a launch cannot give
  };
  sort is;
  uint32_t size;  // bytes of the argument; 0 if the module does not tell, and for local memory
};

struct spirv_kernel {
  std::string name;
  std::vector<spirv_parameter> parameters;
};

/// The SPIR-V version of a module, as in its second word: 0x00010200 is 1.2. Of bytes that
/// `spirv_kernels` has read.
uint32_t spirv_version(const void* bytes) noexcept;

/// Lists the kernels of a module of `size` bytes, in the order of their entry points. Throws
/// outback::invalid_argument if the bytes are no SPIR-V, are cut off, or have no kernel. Checks
/// nothing else: the driver does.
std::vector<spirv_kernel> spirv_kernels(const void* bytes, std::size_t size);

}  // namespace outback
