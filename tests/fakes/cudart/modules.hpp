// Modules that a program has loaded while it runs. Guarded by the machine's lock.
#pragma once

#include <map>
#include <string>

#include "tests/fakes/cudart/fat_binary.hpp"

namespace fake_cuda {

struct loaded_module {
  parameter_table parameters;              // of its kernels; empty where its image does not say
  std::map<std::string, void*> functions;  // those that somebody has asked for
};

}  // namespace fake_cuda
