#include "backend_template/runtimes/level_zero/result.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

struct named_result {
  uint32_t value;
  const char* name;
};

// Those that the functions return which this runtime calls: nothing of modules and kernels. By
// number, because headers differ in what they declare.
constexpr auto named_results = std::to_array<named_result>({
    {0x00000000, "ZE_RESULT_SUCCESS"},
    {0x00000001, "ZE_RESULT_NOT_READY"},
    {0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST"},
    {0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
    {0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
    {0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
    {0x70000007, "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE"},
    {0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
    {0x70010001, "ZE_RESULT_ERROR_NOT_AVAILABLE"},
    {0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"},
    {0x78000001, "ZE_RESULT_ERROR_UNINITIALIZED"},
    {0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},
    {0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
    {0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"},
    {0x78000005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"},
    {0x78000006, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"},
    {0x78000007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER"},
    {0x78000008, "ZE_RESULT_ERROR_INVALID_SIZE"},
    {0x78000009, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"},
    {0x7800000a, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT"},
    {0x7800000b, "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"},
    {0x7800000c, "ZE_RESULT_ERROR_INVALID_ENUMERATION"},
    {0x7800000d, "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION"},
    {0x78000019, "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE"},
    {0x7800001a, "ZE_RESULT_ERROR_OVERLAPPING_REGIONS"},
    {0x7800001b, "ZE_RESULT_WARNING_ACTION_REQUIRED"},
    {0x7ff00007, "ZE_RESULT_ERROR_SURVIVABILITY_MODE_DETECTED"},
    {0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN"},
});

// What is not listed is OUTBACK_INTERNAL: a mistake of this runtime, or something that the driver
// does not explain.
outback_status status_of(ze_result_t result) {
  switch (result) {
    case ZE_RESULT_ERROR_DEVICE_LOST:
    case ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET:
      return OUTBACK_DEVICE_LOST;
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY:
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    // Intel's driver returns this for an allocation above its limit. A smaller one may succeed, so
    // the caching allocator may retry.
    case ZE_RESULT_ERROR_UNSUPPORTED_SIZE:
      return OUTBACK_OUT_OF_MEMORY;
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
    case ZE_RESULT_ERROR_UNSUPPORTED_VERSION:
    case ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS:
    case ZE_RESULT_ERROR_NOT_AVAILABLE:
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:
      return OUTBACK_UNSUPPORTED;
    case ZE_RESULT_ERROR_INVALID_ARGUMENT:
    case ZE_RESULT_ERROR_INVALID_NULL_HANDLE:
    case ZE_RESULT_ERROR_INVALID_NULL_POINTER:
    case ZE_RESULT_ERROR_INVALID_SIZE:
    case ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT:
    case ZE_RESULT_ERROR_OVERLAPPING_REGIONS:
      return OUTBACK_INVALID_ARGUMENT;
    default:
      return OUTBACK_INTERNAL;
  }
}

}  // namespace

std::string result_text(ze_result_t result) {
  const auto value = static_cast<uint32_t>(result);
  char number[16];
  std::snprintf(number, sizeof(number), "0x%08x", value);
  for (const auto& known : named_results) {
    if (known.value == value) return std::string(known.name) + " (" + number + ")";
  }
  return std::string("the result ") + number;
}

void throw_result(ze_result_t result, const char* call) {
  const std::string text = std::string(call) + ": " + result_text(result);
  switch (status_of(result)) {
    case OUTBACK_DEVICE_LOST:
      throw device_lost(text);
    case OUTBACK_OUT_OF_MEMORY:
      throw out_of_memory(text);
    case OUTBACK_UNSUPPORTED:
      throw unsupported(text);
    case OUTBACK_INVALID_ARGUMENT:
      throw invalid_argument(text);
    default:
      throw runtime_error(OUTBACK_INTERNAL, text);
  }
}

}  // namespace outback::level_zero
