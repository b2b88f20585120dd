// The kernel slots of the host runtime.
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "backend_template/runtimes/host/module.hpp"

namespace outback::host {
namespace {

module& own_module(int32_t index, outback_module handle) {
  auto& m = *reinterpret_cast<module*>(handle);
  check_owner("module", m.device(), index);
  return m;
}

const kernel& own_kernel(int32_t index, outback_kernel handle) {
  const auto& k = *reinterpret_cast<const kernel*>(handle);
  check_owner("kernel", k.device, index);
  return k;
}

}  // namespace

outback_formats host_runtime::kernel_formats(int32_t index) {
  at(index);
  outback_formats formats = {};
  formats.count = 1;
  formats.list[0] = OUTBACK_FORMAT_HOST;
  return formats;
}

outback_module host_runtime::module_load(int32_t index, outback_format format, const void* bytes,
                                         std::size_t size) {
  at(index);
  if (format != OUTBACK_FORMAT_HOST) {
    throw unsupported("the host runtime takes modules in the format OUTBACK_FORMAT_HOST, " +
                      std::to_string(OUTBACK_FORMAT_HOST) + ", not " + std::to_string(format));
  }
  return reinterpret_cast<outback_module>(new module(index, bytes, size));
}

void host_runtime::module_unload(int32_t index, outback_module handle) {
  at(index);
  // Pending launches own the code, so deleting is safe at any time.
  delete &own_module(index, handle);
}

outback_kernel host_runtime::kernel_of(int32_t index, outback_module handle, const char* name) {
  at(index);
  const kernel& found = own_module(index, handle).find(name);
  return reinterpret_cast<outback_kernel>(const_cast<kernel*>(&found));
}

outback_kernel_info host_runtime::kernel_info(int32_t index, outback_kernel handle) {
  at(index);
  const outback_host_kernel& host = *own_kernel(index, handle).host;
  outback_kernel_info info = {};
  info.argument_count = int32_t(host.argument_count);
  info.max_items = host.max_items != 0 ? host.max_items : max_group_size;
  return info;
}

void* host_runtime::kernel_memory(int32_t index, const void* ptr, uint32_t number) const {
  if (ptr == nullptr || options_.addresses_host) return const_cast<void*>(ptr);
  const auto found = allocations_.find(ptr);
  if (found && found->device == index) return bytes_at(ptr);
  if (pinned(ptr, 1)) return const_cast<void*>(ptr);
  // Without protection each device reaches the memory of its peers.
  if (found && !options_.protected_memory) return const_cast<void*>(ptr);
  throw invalid_argument("argument " + std::to_string(number) + " points to " +
                         (found ? "memory of device " + std::to_string(found->device)
                                : std::string("no memory of the device and no pinned memory")) +
                         ", which kernels of device " + std::to_string(index) + " cannot access");
}

void host_runtime::kernel_launch(int32_t index, outback_kernel handle, const outback_launch& launch,
                                 outback_stream where) {
  stream& s = stream_at(index, where);
  const kernel& k = own_kernel(index, handle);
  k.check(launch);
  std::vector<void*> pointers(launch.argument_count);  // where an argument is one
  std::vector<const void*> values;
  for (uint32_t i = 0; i < launch.argument_count; ++i) {
    const outback_argument& each = launch.arguments[i];
    values.push_back(each.value);
    if (each.is_memory == 0) continue;
    std::memcpy(&pointers[i], each.value, sizeof(void*));
    pointers[i] = kernel_memory(index, pointers[i], i);
    values.back() = &pointers[i];
  }
  const uint32_t(&groups)[3] = launch.groups;
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return;
  const auto work = std::make_shared<const kernel_work>(k.code, *k.host, k.name, launch, values);
  s.enqueue([work] { work->run(); }, runner::a_waiter_too,
            {.kind = OUTBACK_RECORD_KERNEL, .name = k.name});
}

}  // namespace outback::host
