// Variables of device code that a program has registered: each has memory on every device that
// somebody asks for it on. Guarded by the machine's lock.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "tests/fakes/cudart/block.hpp"

namespace fake_cuda {

struct variable {
  std::string symbol;
  std::size_t size = 0;
  std::map<int, block_ptr> on;  // by device
};
/// By the address of what stands for the variable in the program.
using variable_table = std::map<const void*, variable>;

}  // namespace fake_cuda
