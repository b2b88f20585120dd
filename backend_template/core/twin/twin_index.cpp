#include "backend_template/core/twin/twin_index.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace outback::core {
namespace {

using uuid = std::array<uint8_t, sizeof(outback_device_info::uuid)>;

bool is_given(const uuid& id) {
  return std::any_of(id.begin(), id.end(), [](uint8_t byte) { return byte != 0; });
}

// CUDA's driver, which torch has loaded, numbers the devices as torch.cuda does. The second version
// of the function knows the parts of a divided GPU (MIG) apart.
std::optional<uuid> cuda_uuid(c10::DeviceIndex index) {
  using get_device = int (*)(int* device, int ordinal);
  using get_uuid = int (*)(uuid* id, int device);
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return std::nullopt;
  const auto device_of = reinterpret_cast<get_device>(dlsym(driver, "cuDeviceGet"));
  const auto uuid_of = reinterpret_cast<get_uuid>(dlsym(driver, "cuDeviceGetUuid_v2"));
  int device = 0;
  uuid id{};
  if (device_of == nullptr || uuid_of == nullptr || device_of(&device, index) != 0 ||
      uuid_of(&id, device) != 0) {
    return std::nullopt;
  }
  return id;
}

}  // namespace

std::optional<c10::DeviceIndex> twin_index(c10::DeviceType type, const outback_device_info& info,
                                           c10::DeviceIndex index) {
  const c10::DeviceIndex count = c10::impl::getDeviceGuardImpl(type)->deviceCount();
  uuid ours;
  std::copy(std::begin(info.uuid), std::end(info.uuid), ours.begin());
  if (type == c10::DeviceType::CUDA && is_given(ours)) {
    for (c10::DeviceIndex there = 0; there < count; ++there) {
      if (cuda_uuid(there) == ours) return there;
    }
    return std::nullopt;  // by the index alone, it may be other hardware
  }
  if (index >= count) return std::nullopt;
  return index;
}

}  // namespace outback::core
