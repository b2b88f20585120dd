#include "tests/fakes/nvml/nvml_machine.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace fake_nvml {

machine::machine() : given(fake_cuda::settings::from_environment()) {
  for (const auto& each : fake_cuda::physical_devices(given)) {
    auto* const whole = new device{
        .described = each, .index = unsigned(devices.size()), .whole = nullptr, .instances = {}};
    for (const auto& instance : fake_cuda::instances_of(given, each.physical)) {
      whole->instances.push_back(new device{.described = instance,
                                            .index = unsigned(whole->instances.size()),
                                            .whole = whole,
                                            .instances = {}});
    }
    devices.push_back(whole);
  }
  const char* const planned = std::getenv("FAKE_NVML_FAULTS");
  if (planned != nullptr && !faults.parse(planned)) {
    std::fprintf(stderr, "fake nvml: FAKE_NVML_FAULTS=%s: expected entry_point:nth=error,...\n",
                 planned);
    std::_Exit(2);
  }
}

machine& the_machine() {
  static machine& made = *new machine;
  return made;
}

device& checked(machine& m, nvmlDevice_t handle) {
  for (device* const each : m.devices) {
    if (reinterpret_cast<nvmlDevice_t>(each) == handle) return *each;
    for (device* const instance : each->instances) {
      if (reinterpret_cast<nvmlDevice_t>(instance) == handle) return *instance;
    }
  }
  throw failure{NVML_ERROR_INVALID_ARGUMENT};
}

unsigned long long memory_used(const device& of) {
  // By its whole name: torch may have loaded a real libcudart of the same soname.
  static const std::filesystem::path folder = [] {
    Dl_info self = {};
    dladdr(reinterpret_cast<void*>(&the_machine), &self);
    return std::filesystem::absolute(self.dli_fname).parent_path();
  }();
  unsigned long long used = 0;
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"}) {
    void* const library = dlopen((folder / name).c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    using function = long long (*)(const char*);
    const auto ask = reinterpret_cast<function>(dlsym(library, "fake_cudart_memory_used_by_uuid"));
    if (ask != nullptr) used += (unsigned long long)(ask(of.described.uuid_text.c_str()));
    dlclose(library);
  }
  return used;
}

}  // namespace fake_nvml
