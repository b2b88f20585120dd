// Level Zero runtimes for the suite: on the software driver, through the loader that the system
// has.
#include "backend_template/runtimes/level_zero/level_zero.h"
#include "tests/runtime/level_zero/environment.hpp"

namespace {

using outback::test_level_zero::set_environment;
using outback::test_level_zero::variable;

const outback_runtime* table_with(std::initializer_list<variable> variables) {
  // The driver has no compiler: it runs the kernels that the host's compiler has made of the same
  // source. With OUTBACK_ZE_EXECUTE=opencl an OpenCL driver compiles and runs the SPIR-V.
  set_environment({{"OUTBACK_ZE_DEVICES", "3"},
                   {"OUTBACK_ZE_MEMORY", "512M"},
                   {"OUTBACK_ZE_EXECUTE", outback::test_level_zero::host_kernels}});
  set_environment(variables);
  return outback_level_zero_runtime();
}

}  // namespace

// Lists that keep their order, counter-based events, Sysman.
extern "C" const outback_runtime* outback_test_ze_plain(void) {
  static const outback_runtime* table = table_with({{"ZES_ENABLE_SYSMAN", "1"}});
  return table;
}

// The same driver, in order by barriers.
extern "C" const outback_runtime* outback_test_ze_barriers(void) {
  static const outback_runtime* table = table_with({{"OUTBACK_ZE_IN_ORDER", "0"}});
  return table;
}

// A driver of 2022, which ignores the flags of later ones; one engine, short patterns, no peers.
extern "C" const outback_runtime* outback_test_ze_old(void) {
  static const outback_runtime* table = table_with({{"OUTBACK_ZE_API", "1.3"},
                                                    {"OUTBACK_ZE_QUEUES", "1"},
                                                    {"OUTBACK_ZE_FILL_PATTERN", "1"},
                                                    {"OUTBACK_ZE_PEER", "0"}});
  return table;
}

// Lists keep their order, but events are of the kind that is reset.
extern "C" const outback_runtime* outback_test_ze_in_order_reset_events(void) {
  static const outback_runtime* table = table_with({{"OUTBACK_ZE_API", "1.7"}});
  return table;
}

// A loader that has what came after Debian's.
extern "C" const outback_runtime* outback_test_ze_newer_loader(void) {
  static const outback_runtime* table =
      table_with({{"OUTBACK_ZE_LOADER", outback::test_level_zero::newer_loader}});
  return table;
}

// The host faults when it touches device memory.
extern "C" const outback_runtime* outback_test_ze_guard(void) {
  static const outback_runtime* table = table_with({{"OUTBACK_ZE_GUARD", "1"}});
  return table;
}

// Commands run late, and in any order that barriers and events allow.
extern "C" const outback_runtime* outback_test_ze_adversarial(void) {
  static const outback_runtime* table = table_with({{"OUTBACK_ZE_ADVERSARIAL", "1"}});
  return table;
}

extern "C" const outback_runtime* outback_test_ze_adversarial_barriers(void) {
  static const outback_runtime* table =
      table_with({{"OUTBACK_ZE_ADVERSARIAL", "2"}, {"OUTBACK_ZE_IN_ORDER", "0"}});
  return table;
}

// The loader checks every parameter; Debian's refuses flags that it does not know.
extern "C" const outback_runtime* outback_test_ze_validation(void) {
  static const outback_runtime* table =
      table_with({{"ZE_ENABLE_VALIDATION_LAYER", "1"}, {"ZE_ENABLE_PARAMETER_VALIDATION", "1"}});
  return table;
}
