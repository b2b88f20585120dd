// What the driver says of a device, asked once.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "backend_template/runtimes/opencl/device.hpp"
#include "backend_template/runtimes/opencl/result.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

uint32_t largest_subgroup(const driver_api& api, cl_device_id device, const std::string& has) {
  if (!has_extension(has, "cl_intel_required_subgroup_size")) return 0;
  // Zeros behind the last one.
  const auto sizes = fact_or<std::array<std::size_t, 32>>(api.clGetDeviceInfo, device,
                                                          CL_DEVICE_SUB_GROUP_SIZES_INTEL, {});
  return uint32_t(*std::max_element(sizes.begin(), sizes.end()));
}

// The driver's own language last: it takes longer to compile.
outback_formats formats_of(const driver_api& api, cl_device_id device) {
  outback_formats formats = {};
  std::string languages;
  try {
    languages = text_fact(api.clGetDeviceInfo, CL_DEVICE_IL_VERSION, device);
  } catch (const runtime_error&) {
    // A driver before version 2.1 does not know the question.
  }
  if (api.clCreateProgramWithIL && languages.find("SPIR-V") != std::string::npos) {
    formats.list[formats.count++] = OUTBACK_FORMAT_SPIRV;
  }
  formats.list[formats.count++] = OUTBACK_FORMAT_OPENCL_C;
  return formats;
}

}  // namespace

const device_facts& device::facts() {
  if (const auto* there = facts_.load(std::memory_order_acquire)) return *there;
  const std::lock_guard lock(facts_mutex_);
  if (const auto* there = facts_.load(std::memory_order_relaxed)) return *there;

  const auto& ask = driver_.api().clGetDeviceInfo;
  auto found = std::make_unique<device_facts>();
  outback_device_info& info = found->info;
  const std::string name = text_fact(ask, CL_DEVICE_NAME, handle_);
  std::snprintf(info.name, sizeof(info.name), "%s", name.c_str());
  const std::string has = text_fact(ask, CL_DEVICE_EXTENSIONS, handle_);
  found->has_priorities = has_extension(has, "cl_khr_priority_hints");

  // The CPU does not follow the device's pointers, also where the driver would let it: fine-grained
  // memory of a GPU is slow for the CPU.
  if (fact_or<cl_bool>(ask, handle_, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_FALSE) != CL_FALSE) {
    info.flags |= OUTBACK_INTEGRATED;
  }
  if (fact_or<cl_device_fp_config>(ask, handle_, CL_DEVICE_DOUBLE_FP_CONFIG, 0) == 0) {
    info.flags |= OUTBACK_NO_FLOAT64;
  }
  if (!has_extension(has, "cl_khr_fp16")) info.flags |= OUTBACK_NO_FLOAT16;
  // No version of OpenCL C has arithmetic for them.
  info.flags |= OUTBACK_NO_BFLOAT16;
  if (!has_extension(has, "cl_khr_int64_base_atomics") ||
      !has_extension(has, "cl_khr_int64_extended_atomics")) {
    info.flags |= OUTBACK_NO_INT64_ATOMICS;
  }

  info.memory_size = fact<cl_ulong>(ask, handle_, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.max_alloc_size = std::min(
      info.memory_size, uint64_t{fact<cl_ulong>(ask, handle_, CL_DEVICE_MAX_MEM_ALLOC_SIZE)});
  info.alignment = memory_alignment;
  info.compute_units = fact<cl_uint>(ask, handle_, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.max_group_size = uint32_t(fact<std::size_t>(ask, handle_, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  info.subgroup_size = largest_subgroup(driver_.api(), handle_, has);
  found->local_memory = fact<cl_ulong>(ask, handle_, CL_DEVICE_LOCAL_MEM_SIZE);
  found->formats = formats_of(driver_.api(), handle_);
  if (has_extension(has, "cl_khr_device_uuid")) {
    static_assert(sizeof(info.uuid) == CL_UUID_SIZE_KHR);
    call(ask, handle_, CL_DEVICE_UUID_KHR, sizeof(info.uuid), static_cast<void*>(info.uuid),
         static_cast<std::size_t*>(nullptr));
  }
  if (has_extension(has, "cl_khr_pci_bus_info")) {
    const auto pci = fact<cl_device_pci_bus_info_khr>(ask, handle_, CL_DEVICE_PCI_BUS_INFO_KHR);
    std::snprintf(info.pci_id, sizeof(info.pci_id), "%04x:%02x:%02x.%x", pci.pci_domain & 0xffff,
                  pci.pci_bus & 0xff, pci.pci_device & 0x1f, pci.pci_function & 0x7);
  }
  // Leaked on purpose, like the device.
  facts_.store(found.get(), std::memory_order_release);
  return *found.release();
}

}  // namespace outback::opencl
