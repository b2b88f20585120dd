// zeDevice*: which devices there are, their clock and their state.
#include <random>
#include <vector>

#include "tests/fakes/level_zero/answers.hpp"
#include "tests/fakes/level_zero/clock.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace device_entries {

void write_handle(ze_device_handle_t& into, const std::shared_ptr<device>& from) {
  into = from->handle;
}

ze_result_t get(ze_driver_handle_t driver, uint32_t* count, ze_device_handle_t* devices) {
  the_world().drivers.find(driver);
  answer_list(the_world().listed, count, devices, write_handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_sub_devices(ze_device_handle_t handle, uint32_t* count,
                            ze_device_handle_t* devices) {
  answer_list(the_world().devices.find(handle)->sub_devices, count, devices, write_handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_root_device(ze_device_handle_t handle, ze_device_handle_t* root) {
  const auto found = the_world().devices.find(handle);
  require_pointer(root);
  *root = found->parent() ? found->parent()->handle : nullptr;
  return ZE_RESULT_SUCCESS;
}

ze_result_t can_access_peer(ze_device_handle_t handle, ze_device_handle_t peer, ze_bool_t* can) {
  const auto from = the_world().devices.find(handle);
  const auto to = the_world().devices.find(peer);
  require_pointer(can);
  from->require_present();
  *can = can_access(*from, *to);
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_p2p_properties(ze_device_handle_t handle, ze_device_handle_t peer,
                               ze_device_p2p_properties_t* properties) {
  const auto from = the_world().devices.find(handle);
  const auto to = the_world().devices.find(peer);
  require_pointer(properties);
  properties->flags = can_access(*from, *to) ? ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_status(ze_device_handle_t handle) {
  the_world().devices.find(handle)->require_present();
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_global_timestamps(ze_device_handle_t handle, uint64_t* host, uint64_t* on_device) {
  the_world().devices.find(handle)->require_present();
  require_pointer(host);
  require_pointer(on_device);
  *host = clock_nanoseconds();
  *on_device = low_bits(clock_ticks(), the_options().timer_bits);
  return ZE_RESULT_SUCCESS;
}

}  // namespace device_entries

void serve_device(ze_device_dditable_t* table, ze_api_version_t version) {
  using namespace device_entries;
  serve<"zeDeviceGet", get, in_child::allowed>(table->pfnGet);
  serve<"zeDeviceGetSubDevices", get_sub_devices, in_child::allowed>(table->pfnGetSubDevices);
  serve<"zeDeviceCanAccessPeer", can_access_peer, in_child::allowed>(table->pfnCanAccessPeer);
  serve<"zeDeviceGetP2PProperties", get_p2p_properties, in_child::allowed>(
      table->pfnGetP2PProperties);
  serve<"zeDeviceGetStatus", get_status>(table->pfnGetStatus);
  serve<"zeDeviceGetGlobalTimestamps", get_global_timestamps>(table->pfnGetGlobalTimestamps);
  serve_nothing<"zeDeviceReserveCacheExt">(table->pfnReserveCacheExt);
  serve_nothing<"zeDeviceSetCacheAdviceExt">(table->pfnSetCacheAdviceExt);
  if (serves(version, api_version(1, 7))) {
    serve_newer<"zeDeviceGetRootDevice", get_root_device, in_child::allowed>(
        table, slot_device_get_root_device);
  }
}

}  // namespace outback::software_ze
