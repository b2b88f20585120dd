// What a piece of work is, for whoever reads the record of a program's work.
#pragma once

#include <memory>
#include <string>

namespace fake_cuda {

struct note {
  const char* what;        // "kernel", "copy", "fill", or "call" of another library's function
  std::string dimensions;  // of a kernel: grid and block, separated by a tab; else a tab
  std::size_t bytes;       // that are copied or filled; of a kernel, its dynamic shared memory
  std::string name;        // of the kernel or function; of a copy, its direction
  std::string arguments;   // the addresses in them, where the record asks for these
};
using note_ptr = std::shared_ptr<const note>;

}  // namespace fake_cuda
