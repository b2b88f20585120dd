// A device whose driver takes modules of the made-up language (language.hpp) and nothing else: the
// host runtime with another group `kernels`, memory apart, no float64 and groups of at most 64
// items.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "backend_template/runtimes/host/host.h"
#include "outback/runtime.h"

namespace {

constexpr outback_format made_up_format = 1001;
constexpr std::string_view magic = "MADE-UP1";
constexpr uint32_t most_items = 64;

const outback_runtime& host() {
  return *outback_host_runtime();
}

outback_status device_info(void* self, int32_t device, outback_device_info* info) {
  const outback_status status = host().device_info(self, device, info);
  info->max_group_size = most_items;
  info->flags |= OUTBACK_NO_FLOAT64 | OUTBACK_NO_INT64_ATOMICS;
  return status;
}

outback_status formats(void* self, int32_t device, outback_formats* formats) {
  const outback_status status = host().kernels->formats(self, device, formats);
  formats->list[0] = made_up_format;
  return status;
}

outback_status module_load(void* self, int32_t device, outback_format format, const void* bytes,
                           size_t size, outback_module* module) {
  const std::string_view code(static_cast<const char*>(bytes), size);
  if (format != made_up_format) return OUTBACK_UNSUPPORTED;
  if (code.substr(0, magic.size()) != magic) return OUTBACK_INVALID_ARGUMENT;
  const std::string_view rest = code.substr(magic.size());
  return host().kernels->module_load(self, device, OUTBACK_FORMAT_HOST, rest.data(), rest.size(),
                                     module);
}

}  // namespace

extern "C" const outback_runtime* acme_runtime(void) {
  // Before the host runtime reads it.
  static const int is_set = setenv("OUTBACK_HOST_ADDRESSABLE", "0", 1);
  static_cast<void>(is_set);
  static const outback_kernels kernels = [] {
    outback_kernels own = *host().kernels;
    own.formats = &formats;
    own.module_load = &module_load;
    return own;
  }();
  static const outback_runtime table = [] {
    outback_runtime own = host();
    own.device_info = &device_info;
    own.kernels = &kernels;
    return own;
  }();
  return &table;
}
