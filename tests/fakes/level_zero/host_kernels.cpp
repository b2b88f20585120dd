// Kernels of the host in place of those in SPIR-V.
#include <dlfcn.h>

#include <cstdlib>
#include <new>
#include <stdexcept>

#include "outback/host_kernel.h"
#include "tests/fakes/level_zero/executable.hpp"

namespace outback::software_ze {
namespace {

constexpr auto local_alignment = std::align_val_t{64};

struct free_local {
  void operator()(std::byte* bytes) const noexcept { ::operator delete[](bytes, local_alignment); }
};

class host_library final : public executable {
 public:
  explicit host_library(const std::string& path)
      : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw std::runtime_error(dlerror());
  }

  std::string run(const prepared_launch& launch) override {
    const auto* kernel = static_cast<const outback_host_kernel*>(
        dlsym(library_, (OUTBACK_HOST_KERNEL_PREFIX + launch.kernel).c_str()));
    if (!kernel) return "";
    prepared_launch copy = launch;  // kernels get the addresses of arguments that can be written
    std::vector<void*> arguments;
    std::unique_ptr<std::byte[], free_local> local;
    outback_host_groups groups{};
    groups.struct_size = sizeof groups;
    groups.count = 1;
    for (int i = 0; i < 3; ++i) {
      groups.items[i] = launch.items[i];
      groups.groups[i] = launch.groups[i];
      groups.count *= launch.groups[i];
    }
    for (prepared_argument& each : copy.arguments) {
      if (auto* size = std::get_if<local_memory>(&each)) {
        local.reset(new (local_alignment) std::byte[size->size]);
        groups.local = local.get();
        groups.local_size = size->size;
      } else if (auto* pointer = std::get_if<void*>(&each)) {
        arguments.push_back(pointer);
      } else {
        arguments.push_back(std::get<std::vector<std::byte>>(each).data());
      }
    }
    if (arguments.size() != kernel->argument_count) {
      return "the host's kernel has another number of arguments";
    }
    groups.arguments = arguments.data();
    const int32_t fault = kernel->run(&groups);
    return fault == 0 ? "" : "the host's kernel faults with number " + std::to_string(fault);
  }

 private:
  void* const library_;  // never closed: queues may work while the process exits
};

}  // namespace

std::shared_ptr<executable> open_host_kernels(const std::string& path) {
  return std::make_shared<host_library>(path);
}

}  // namespace outback::software_ze
