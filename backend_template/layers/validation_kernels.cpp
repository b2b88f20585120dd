// Validation's rules for modules, kernels and launches.
#include <cstring>
#include <string>

#include "backend_template/layers/validation.hpp"
#include "outback/answer_check.hpp"

namespace outback::layers {

void validation::receive(slots::kernel_formats, int32_t, outback_formats* formats) {
  if (formats->struct_size < sizeof(*formats)) return;  // from an older caller, with fewer members
  const std::string problem = formats_problem(*formats);
  if (!problem.empty()) blame(slots::kernel_formats::name, problem);
}

void validation::receive(slots::kernel_of, int32_t device, outback_module module, const char*,
                         outback_kernel* kernel) {
  objects_.lend(handle_name<outback_kernel>, *kernel, device, handle_name<outback_module>, module);
}

void validation::receive_end(slots::module_unload, const giving& given) {
  if (given.handle) objects_.forget_lent(given.handle->number);
}

void validation::check_kernel_memory(int32_t device, const void* ptr, const std::string& argument) {
  if (ptr == nullptr || objects_.find(ptr, device)) return;
  const char* const slot = slots::kernel_launch::name;
  if (const auto freed = objects_.find_freed(ptr, device)) {
    refuse(slot, argument.c_str(), address_text(ptr) + ", in " + block_text(*freed) + ", freed",
           "memory that is still there");
  }
  const auto elsewhere = objects_.find_elsewhere(ptr, device);
  if (!elsewhere) return;  // memory that others made: the runtime knows
  const outback_runtime& runtime = devices_.runtime();
  int32_t can = 0;
  if (elsewhere->device == OUTBACK_HOST) {
    can = 1;  // pinned memory
  } else if (runtime.peer != nullptr) {
    runtime.peer->can_access(runtime.self, device, elsewhere->device, &can);
  }
  if (can != 0 || (facts_of(device).flags & OUTBACK_ADDRESSES_HOST) != 0) return;
  refuse(slot, argument.c_str(), address_text(ptr) + ", in " + block_text(*elsewhere),
         "memory that kernels of device " + std::to_string(device) + " can access");
}

void validation::check(slots::kernel_launch, int32_t device, outback_kernel kernel,
                       const outback_launch* launch, outback_stream) {
  const char* const slot = slots::kernel_launch::name;
  for (uint32_t i = 0; i < launch->argument_count; ++i) {
    const outback_argument& each = launch->arguments[i];
    if (each.is_memory == 0) continue;
    const void* ptr = nullptr;
    std::memcpy(&ptr, each.value, sizeof(ptr));
    check_kernel_memory(device, ptr, "arguments[" + std::to_string(i) + "]");
  }
  const outback_runtime& runtime = devices_.runtime();
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  if (runtime.kernels->info(runtime.self, device, kernel, &info) != OUTBACK_OK) return;
  if (info.argument_count >= 0 && launch->argument_count != uint32_t(info.argument_count)) {
    refuse(slot, "argument_count", std::to_string(launch->argument_count),
           std::to_string(info.argument_count) + ", as the kernel has");
  }
  const uint64_t items = uint64_t(launch->items[0]) * launch->items[1] * launch->items[2];
  const uint32_t most = info.max_items != 0 ? info.max_items : facts_of(device).max_group_size;
  if (most == 0 || items <= most) return;
  refuse(slot, "items", std::to_string(items) + " a group", "at most " + std::to_string(most));
}

}  // namespace outback::layers
