// The kernel slots of the CUDA runtime.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"
#include "backend_template/runtimes/cuda/image.hpp"
#include "backend_template/runtimes/cuda/module.hpp"

namespace outback::cuda {
namespace {

module& module_at(const device& d, outback_module handle) {
  auto& m = *reinterpret_cast<module*>(handle);
  check_owner("module", m.of.index(), d.index());
  return m;
}

kernel& kernel_at(const device& d, outback_kernel handle) {
  auto& k = *reinterpret_cast<kernel*>(handle);
  check_owner("kernel", k.of.of.index(), d.index());
  return k;
}

// Decides when the kernel's module may be unloaded; see unloading.hpp.
void note_launch(device& d, stream& s, module& m) {
  d.unloading().note_launch(s);
  if (s.handle == cudaStreamPerThread) d.unloading().note_unknown_launches();
  if (m.is_captured.load(std::memory_order_relaxed)) return;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  d.call(d.cuda().cudaStreamIsCapturing, s.handle, &status);
  if (status != cudaStreamCaptureStatusNone) m.is_captured.store(true, std::memory_order_relaxed);
}

// Without this call a launch gets at most 48 KiB. It only raises a limit, and costs nothing where
// launches ask for less.
void allow_local(device& d, kernel& k, std::size_t size) {
  if (size <= k.allowed_local.load(std::memory_order_relaxed)) return;
  d.call(d.driver().cuFuncSetAttribute, k.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
         int(k.most_local));
  k.allowed_local.store(k.most_local, std::memory_order_relaxed);
}

// "2 x 3 x 1".
std::string shape_text(const uint32_t (&counts)[3]) {
  return std::to_string(counts[0]) + " x " + std::to_string(counts[1]) + " x " +
         std::to_string(counts[2]);
}

}  // namespace

outback_formats cuda_runtime::kernel_formats(int32_t index) {
  device& d = at(index);
  outback_formats formats = {};
  formats.count = 2;
  formats.list[0] = OUTBACK_FORMAT_CUBIN;
  formats.list[1] = OUTBACK_FORMAT_PTX;
  const compute_capability capability = d.capability();
  std::snprintf(formats.target, sizeof(formats.target), "sm_%d%d", capability.major,
                capability.minor);
  return formats;
}

outback_module cuda_runtime::module_load(int32_t index, outback_format format, const void* bytes,
                                         std::size_t size) {
  device& d = at(index);
  const std::vector<char> image = image_of(format, bytes, size);
  const beside_captures here(d);
  d.unloading().unload_if_idle(d);
  return reinterpret_cast<outback_module>(new module(d, load_image(d, image)));
}

void cuda_runtime::module_unload(int32_t index, outback_module handle) {
  device& d = listed(index);
  const std::unique_ptr<module> gone(&module_at(d, handle));
  if (!gone->is_captured) d.unloading().add(gone->handle);
  d.check_not_lost();
}

outback_kernel cuda_runtime::kernel_of(int32_t index, outback_module handle, const char* name) {
  device& d = at(index);
  module& m = module_at(d, handle);
  const beside_captures here(d);
  return reinterpret_cast<outback_kernel>(&m.find(name));
}

outback_kernel_info cuda_runtime::kernel_info(int32_t index, outback_kernel handle) {
  device& d = at(index);
  const kernel& k = kernel_at(d, handle);
  outback_kernel_info info = {};
  info.argument_count = k.argument_sizes ? int32_t(k.argument_sizes->size()) : -1;
  info.max_items = uint32_t(k.max_items);
  info.subgroup_size = d.subgroup_size();
  info.registers = uint32_t(k.registers);
  info.local_size = k.own_local;
  info.private_size = k.private_size;
  return info;
}

void cuda_runtime::kernel_launch(int32_t index, outback_kernel handle, const outback_launch& launch,
                                 outback_stream where) {
  device& d = at(index);
  kernel& k = kernel_at(d, handle);
  const on_device here(d);
  stream& s = stream_at(d, where);
  k.check(launch);
  const uint32_t(&groups)[3] = launch.groups;
  const uint32_t(&items)[3] = launch.items;
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return;
  note_launch(d, s, k.of);
  allow_local(d, k, launch.local_size);
  std::vector<void*> values(launch.argument_count);
  for (uint32_t i = 0; i < launch.argument_count; ++i) {
    values[i] = const_cast<void*>(launch.arguments[i].value);
  }
  const auto& start = d.driver().cuLaunchKernel;
  const auto error = static_cast<cudaError_t>(
      start(k.handle, groups[0], groups[1], groups[2], items[0], items[1], items[2],
            unsigned(launch.local_size), s.handle, values.data(), nullptr));
  if (error == cudaSuccess) [[likely]]
    return;
  d.fail(error, start.name,
         ": the kernel " + k.name + ", " + shape_text(groups) + " groups of " + shape_text(items) +
             " items, with " + std::to_string(launch.local_size) + " bytes of local memory");
}

}  // namespace outback::cuda
