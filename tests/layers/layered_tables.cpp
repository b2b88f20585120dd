// Layered host runtimes, for the suite: what is legal goes through them all.
#include <cstdlib>
#include <string>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "backend_template/runtimes/null/null.h"
#include "outback/layers.hpp"

namespace {

const outback_runtime* host_table(bool addressable) {
  return outback::table_of(*new outback::host::host_runtime({.devices = 3,
                                                             .memory_size = uint64_t{512} << 20,
                                                             .host_addressable = addressable,
                                                             .addresses_host = addressable}));
}

const outback_runtime* all_layers(const outback_runtime* below) {
  using namespace outback::layers;
  const outback_runtime* disturbed = inject(below, {{.first = 1000000000}});
  return trace(validate(disturbed, {.devices = below}), "/dev/null");
}

}  // namespace

extern "C" const outback_runtime* outback_test_validated_host(void) {
  static const outback_runtime* table = outback::layers::validate(host_table(true));
  return table;
}

extern "C" const outback_runtime* outback_test_validated_apart(void) {
  static const outback_runtime* table = outback::layers::validate(host_table(false));
  return table;
}

extern "C" const outback_runtime* outback_test_validated_null(void) {
  static const outback_runtime* table = outback::layers::validate(outback_null_runtime());
  return table;
}

extern "C" const outback_runtime* outback_test_traced_host(void) {
  static const outback_runtime* table = outback::layers::trace(host_table(true), "/dev/null");
  return table;
}

extern "C" const outback_runtime* outback_test_layered_host(void) {
  static const outback_runtime* table = all_layers(host_table(true));
  return table;
}

// Two of three devices, in another order, over what refuses a wrong number.
extern "C" const outback_runtime* outback_test_selected_host(void) {
  using namespace outback::layers;
  static const outback_runtime* table = select_devices(validate(host_table(false)), {2, 0});
  return table;
}
