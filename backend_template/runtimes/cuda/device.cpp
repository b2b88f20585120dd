#include "backend_template/runtimes/cuda/device.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <memory>

#include "outback/detail/device_list.hpp"

namespace outback::cuda {
namespace {

// In bytes. The CUDA programming guide promises at least 256 for cudaMalloc.
constexpr uint32_t allocation_alignment = 256;
constexpr int32_t dlpack_cuda = 2;  // kDLCUDA

}  // namespace

uint32_t missing_arithmetic(const compute_capability& runs) {
  // By the CUDA programming guide. Every device that CUDA 12 drives has 64-bit floating-point
  // numbers and atomic operations on 64-bit integers.
  uint32_t flags = 0;
  if (runs.major * 10 + runs.minor < 53) flags |= OUTBACK_NO_FLOAT16;
  if (runs.major < 8) flags |= OUTBACK_NO_BFLOAT16;
  return flags;
}

device::device(const cudart& cuda, const cuda::driver& driver, int32_t index)
    : cuda_(cuda), driver_(driver), index_(index) {
  call(driver_.cuDeviceGet, &handle_, int(index));
  call(driver_.cuDeviceTotalMem, &memory_size_, handle_);
  call(driver_.cuDeviceGetUuid, &uuid_, handle_);
}

device::~device() {
  const CUcontext context = context_;
  if (context != nullptr && driver_.cuCtxPushCurrent(context) == CUDA_SUCCESS) {
    // There is nobody to report a failure of these calls to.
    if (const stream* s = default_stream_) cuda_.cudaStreamDestroy(s->handle);
    CUcontext popped = nullptr;
    driver_.cuCtxPopCurrent(&popped);
    driver_.cuDevicePrimaryCtxRelease(handle_);
  }
  delete default_stream_;
  delete lost_;
}

int device::attribute(cudaDeviceAttr which) {
  int value = 0;
  call(cuda_.cudaDeviceGetAttribute, &value, which, int(index_));
  return value;
}

std::string device::pci_id() {
  char text[32] = {};
  call(cuda_.cudaDeviceGetPCIBusId, static_cast<char*>(text), int(sizeof(text)), int(index_));
  std::string id = text;
  // CUDA's hexadecimal digits may be upper case; Linux writes lower case in /sys.
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
  return id;
}

compute_capability device::capability() {
  return {.major = attribute(cudaDevAttrComputeCapabilityMajor),
          .minor = attribute(cudaDevAttrComputeCapabilityMinor)};
}

uint32_t device::subgroup_size() {
  return uint32_t(attribute(cudaDevAttrWarpSize));
}

std::size_t device::local_memory() {
  return std::size_t(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

outback_device_info device::info() {
  outback_device_info info = {};
  const compute_capability runs = capability();
  info.flags = missing_arithmetic(runs);
  if (attribute(cudaDevAttrIntegrated) != 0) info.flags |= OUTBACK_INTEGRATED;
  info.memory_size = info.max_alloc_size = memory_size_;
  info.alignment = allocation_alignment;
  info.kernels_of = dlpack_cuda;
  info.compute_units = uint32_t(attribute(cudaDevAttrMultiProcessorCount));
  info.subgroup_size = subgroup_size();
  info.max_group_size = uint32_t(attribute(cudaDevAttrMaxThreadsPerBlock));
  info.capability_major = uint16_t(runs.major);
  info.capability_minor = uint16_t(runs.minor);
  static_assert(sizeof(info.uuid) == sizeof(uuid_.bytes));
  std::memcpy(info.uuid, uuid_.bytes, sizeof(info.uuid));
  call(driver_.cuDeviceGetName, static_cast<char*>(info.name), int(sizeof(info.name)), handle_);
  // In case the driver cuts a longer name without ending it.
  info.name[sizeof(info.name) - 1] = '\0';
  std::snprintf(info.pci_id, sizeof(info.pci_id), "%s", pci_id().c_str());
  return info;
}

std::string device::uuid_text() const {
  return outback::detail::uuid_text(uuid_.bytes);
}

bool device::active() {
  unsigned flags = 0;
  int is_active = 0;
  call(driver_.cuDevicePrimaryCtxGetState, handle_, &flags, &is_active);
  return is_active != 0;
}

CUcontext device::context() {
  CUcontext known = context_.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  CUcontext retained = nullptr;
  call(driver_.cuDevicePrimaryCtxRetain, &retained, handle_);
  // Each retain needs a release. The thread that comes second gives back its own; the context is
  // the same one.
  if (context_.compare_exchange_strong(known, retained)) return retained;
  call(driver_.cuDevicePrimaryCtxRelease, handle_);
  return known;
}

stream& device::default_stream() {
  stream* known = default_stream_.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto made = std::make_unique<stream>(stream{.of = this, .handle = nullptr, .owned = true});
  call(cuda_.cudaStreamCreateWithPriority, &made->handle, unsigned{cudaStreamNonBlocking}, 0);
  if (default_stream_.compare_exchange_strong(known, made.get())) return *made.release();
  call(cuda_.cudaStreamDestroy, made->handle);  // another thread made one first
  return *known;
}

priority_range device::priorities() {
  int least = 0, greatest = 0;
  call(cuda_.cudaDeviceGetStreamPriorityRange, &least, &greatest);
  return {.least = least, .greatest = greatest};
}

void device::check_not_lost() const {
  if (const std::string* why = lost_.load(std::memory_order_acquire)) {
    throw device_lost("device " + std::to_string(index_) + " was lost before: " + *why);
  }
}

void device::fail(cudaError_t error, const char* call, const std::string& details) {
  cuda_.cudaGetLastError();  // or another user of CUDA would get this error
  const std::string text = describe(cuda_, error, call) + details;
  if (!is_sticky(error)) throw runtime_error(status_of(error), text);
  lose(text);
}

void device::lose(const std::string& text) {
  // The first error that ended the context is kept, and every later call reports it.
  auto why = std::make_unique<const std::string>(text);
  const std::string* none = nullptr;
  if (lost_.compare_exchange_strong(none, why.get())) why.release();
  throw device_lost(text);
}

}  // namespace outback::cuda
