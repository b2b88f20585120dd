// Modules that a program has loaded while it runs. Guarded by the machine's lock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/fakes/cudart/fat_binary.hpp"
#include "tests/fakes/cudart/host_image.hpp"

namespace fake_cuda {

struct loaded_module {
  // Of its kernels; nothing where only a driver can read its image, and it has any kernel then.
  std::optional<parameter_table> parameters;
  std::shared_ptr<const host_image> code;  // null: its kernels compute nothing
  // Launches that compute and are not done have copies, and so have graphs with launches.
  std::shared_ptr<void> uses = std::make_shared<char>();
  std::map<std::string, void*> functions;  // those that somebody has asked for
};

}  // namespace fake_cuda
