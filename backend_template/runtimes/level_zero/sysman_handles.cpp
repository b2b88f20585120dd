#include "backend_template/runtimes/level_zero/sysman_handles.hpp"

#include <cstring>
#include <optional>

#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {

sysman_handles::sysman_handles(const driver_api& api, bool in_core) : api_(api), in_core_(in_core) {
  if (in_core || !api.zesInit || !api.zesDriverGet) return;
  if (api.zesInit(0) != ZE_RESULT_SUCCESS) return;
  list_all(drivers_, [&](auto... to) { return api.zesDriverGet(to...); });
  for (const auto driver : drivers_) list(driver);
}

void sysman_handles::list(zes_driver_handle_t driver) {
  if (!api_.zesDeviceGet || !api_.zesDeviceGetProperties) return;
  std::vector<zes_device_handle_t> all;
  list_all(all, [&](auto... to) { return api_.zesDeviceGet(driver, to...); });
  for (const auto device : all) {
    zes_device_properties_t properties = {};
    properties.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    if (api_.zesDeviceGetProperties(device, &properties) != ZE_RESULT_SUCCESS) continue;
    apart_.push_back({device, properties.core.uuid});
  }
}

zes_device_handle_t sysman_handles::card_of(const ze_device_uuid_t& uuid) const {
  for (const known& each : apart_) {
    if (std::memcmp(each.uuid.id, uuid.id, sizeof(uuid.id)) == 0) return each.device;
  }
  return nullptr;
}

sysman_place sysman_handles::by_uuid(const ze_device_uuid_t& uuid) const {
  // Cards first. Only a newer loader can find a tile by its UUID, and says which of its card's
  // tiles it is.
  if (const auto card = card_of(uuid)) return {card};
  if (!api_.zesDriverGetDeviceByUuidExp) return {};
  newer::sysman_uuid asked = {};
  std::memcpy(asked.id, uuid.id, sizeof(asked.id));
  for (const auto driver : drivers_) {
    zes_device_handle_t found = nullptr;
    ze_bool_t is_part = 0;
    uint32_t part = 0;
    if (api_.zesDriverGetDeviceByUuidExp(driver, asked, &found, &is_part, &part) !=
            ZE_RESULT_SUCCESS ||
        found == nullptr) {
      continue;
    }
    return {found, is_part ? std::optional(part) : std::nullopt};
  }
  return {};
}

ze_device_handle_t sysman_handles::root_of(ze_device_handle_t device) const {
  ze_device_handle_t root = nullptr;
  if (!api_.zeDeviceGetRootDevice ||
      api_.zeDeviceGetRootDevice(device, &root) != ZE_RESULT_SUCCESS) {
    return nullptr;
  }
  return root;
}

sysman_place sysman_handles::of(ze_device_handle_t device,
                                const ze_device_properties_t& properties) const {
  if (!in_core_ && drivers_.empty()) return {};
  const bool is_tile = (properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0;
  // With ZE_FLAT_DEVICE_HIERARCHY=FLAT the core does not call a tile a tile; then only its UUID
  // tells.
  const ze_device_handle_t root = is_tile ? root_of(device) : nullptr;
  // With the core's initialisation the two APIs share handles, so the handle is only cast.
  if (in_core_ && root == nullptr) return {reinterpret_cast<zes_device_handle_t>(device)};
  if (in_core_) return {reinterpret_cast<zes_device_handle_t>(root), properties.subdeviceId};
  if (const sysman_place found = by_uuid(properties.uuid); found.device != nullptr) return found;
  ze_device_properties_t whole = {};
  whole.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  // A tile without an entry of its own: its card is looked for by the card's UUID.
  if (root == nullptr || api_.zeDeviceGetProperties(root, &whole) != ZE_RESULT_SUCCESS) return {};
  return {card_of(whole.uuid), properties.subdeviceId};
}

}  // namespace outback::level_zero
