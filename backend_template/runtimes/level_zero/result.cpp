#include "backend_template/runtimes/level_zero/result.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

struct known_result {
  uint32_t value;
  outback_status status;
  const char* name;
};

// Those that the functions return which this runtime calls. By number, because headers differ in
// what they declare. OUTBACK_INTERNAL is a mistake of this
// runtime, or something that the driver does not explain. UNSUPPORTED_SIZE is what Intel's driver
// returns for an allocation above its limit: a smaller one may succeed, so the caching allocator
// may retry.
constexpr auto known_results = std::to_array<known_result>({
    {0x00000000, OUTBACK_INTERNAL, "ZE_RESULT_SUCCESS"},
    {0x00000001, OUTBACK_INTERNAL, "ZE_RESULT_NOT_READY"},
    {0x70000001, OUTBACK_DEVICE_LOST, "ZE_RESULT_ERROR_DEVICE_LOST"},
    {0x70000002, OUTBACK_OUT_OF_MEMORY, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
    {0x70000003, OUTBACK_OUT_OF_MEMORY, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
    {0x70000004, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
    {0x70000005, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE"},
    {0x70000006, OUTBACK_DEVICE_LOST, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
    {0x70000007, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE"},
    {0x70010000, OUTBACK_UNSUPPORTED, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
    {0x70010001, OUTBACK_UNSUPPORTED, "ZE_RESULT_ERROR_NOT_AVAILABLE"},
    {0x70020000, OUTBACK_UNSUPPORTED, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"},
    {0x78000001, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_UNINITIALIZED"},
    {0x78000002, OUTBACK_UNSUPPORTED, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},
    {0x78000003, OUTBACK_UNSUPPORTED, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
    {0x78000004, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_ARGUMENT"},
    {0x78000005, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"},
    {0x78000006, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"},
    {0x78000007, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_NULL_POINTER"},
    {0x78000008, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_SIZE"},
    {0x78000009, OUTBACK_OUT_OF_MEMORY, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"},
    {0x7800000a, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT"},
    {0x7800000b, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"},
    {0x7800000c, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_INVALID_ENUMERATION"},
    {0x7800000d, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION"},
    {0x7800000f, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"},
    {0x78000011, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"},
    {0x78000013, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION"},
    {0x78000014, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION"},
    {0x78000015, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX"},
    {0x78000016, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE"},
    {0x78000018, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED"},
    {0x78000019, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE"},
    {0x7800001a, OUTBACK_INVALID_ARGUMENT, "ZE_RESULT_ERROR_OVERLAPPING_REGIONS"},
    {0x7800001b, OUTBACK_INTERNAL, "ZE_RESULT_WARNING_ACTION_REQUIRED"},
    {0x7ff00007, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_SURVIVABILITY_MODE_DETECTED"},
    {0x7ffffffe, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_UNKNOWN"},
});

}  // namespace

void throw_result(ze_result_t result, const char* call) {
  const auto is_it = [&](const known_result& each) { return each.value == uint32_t(result); };
  const auto found = std::find_if(known_results.begin(), known_results.end(), is_it);
  const bool known = found != known_results.end();
  char number[16];
  std::snprintf(number, sizeof(number), "0x%08x", uint32_t(result));
  const std::string text = std::string(call) + ": " +
                           (known ? std::string(found->name) + " (" + number + ")"
                                  : std::string("the result ") + number);
  const outback_status status = known ? found->status : OUTBACK_INTERNAL;
  if (status == OUTBACK_DEVICE_LOST) throw device_lost(text);  // which `blame` catches
  throw runtime_error(status, text);
}

}  // namespace outback::level_zero
