// Whether Intel's own driver accepts what the runtime calls, on a machine without a GPU: it can be
// made to capture commands instead of running them. Nothing executes, so no byte is checked.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/level_zero/spirv_source.hpp"
#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

constexpr std::size_t size = std::size_t{1} << 20;

void use_memory(const outback_runtime& t, outback_stream s) {
  void *device = nullptr, *other = nullptr, *pinned = nullptr;
  std::vector<unsigned char> pageable(size);
  must(t.mem_alloc(t.self, 0, size, &device));
  must(t.mem_alloc(t.self, 0, size, &other));
  must(t.host_memory->alloc(t.self, size, &pinned));
  for (const std::size_t width : {1, 2, 4, 8}) {
    const uint64_t pattern = 0x0102030405060708;
    must(t.mem_fill(t.self, 0, device, size, &pattern, width, s));
  }
  must(t.mem_copy(t.self, device, 0, pageable.data(), OUTBACK_HOST, 100, s));
  must(t.mem_copy(t.self, device, 0, pageable.data(), OUTBACK_HOST, size, s));
  must(t.mem_copy(t.self, other, 0, device, 0, size, s));
  must(t.mem_copy(t.self, pinned, OUTBACK_HOST, other, 0, size, s));
  must(t.mem_copy(t.self, pageable.data(), OUTBACK_HOST, other, 0, size, s));
  must(t.streams->sync(t.self, 0, s));
  outback_pointer_info info = {};
  info.struct_size = sizeof(info);
  must(t.host_memory->info(t.self, static_cast<char*>(pinned) + 100, &info));
  EXPECT_EQ(info.pinned, 1);
  EXPECT_EQ(info.base, pinned);
  must(t.host_memory->info(t.self, static_cast<char*>(device) + 100, &info));
  EXPECT_EQ(info.device, 0);
  must(t.host_memory->info(t.self, pageable.data(), &info));
  EXPECT_EQ(info.pinned, 0);
  must(t.mem_free(t.self, 0, device));
  must(t.mem_free(t.self, 0, other));
  must(t.host_memory->free(t.self, pinned));
}

void use_events(const outback_runtime& t, outback_stream s) {
  outback_stream other = nullptr;
  must(t.streams->create(t.self, 0, -1, &other));
  for (const uint32_t flags : {0u, uint32_t{OUTBACK_EVENT_TIMING}}) {
    outback_event e = nullptr;
    must(t.events->create(t.self, 0, flags, &e));
    for (int round = 0; round < 300; ++round) {  // more than a pool has
      must(t.events->record(t.self, 0, e, s));
      must(t.events->wait(t.self, 0, e, other));
      must(t.events->sync(t.self, 0, e));
    }
    must(t.events->destroy(t.self, 0, e));
  }
  must(t.streams->sync(t.self, 0, other));
  must(t.streams->destroy(t.self, 0, other));
}

// Intel's compiler compiles the kernels.
void use_kernels(const outback_runtime& t, outback_stream s) {
  using software_ze::parameter;
  const auto load = [&](const std::string& bytes, outback_module* made) {
    return t.kernels->module_load(t.self, 0, OUTBACK_FORMAT_SPIRV, bytes.data(), bytes.size(),
                                  made);
  };
  const std::vector<software_ze::kernel_source> sources = {
      {"put", {parameter::memory, parameter::number, parameter::pair, parameter::local}, true}};
  outback_module m = nullptr, none = nullptr;
  must(load(software_ze::spirv_of(sources), &m));
  outback_kernel kernel = nullptr;
  must(t.kernels->kernel(t.self, 0, m, "put", &kernel));
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  must(t.kernels->info(t.self, 0, kernel, &info));
  EXPECT_EQ(info.argument_count, 3);
  EXPECT_GE(info.max_items, 64u);
  EXPECT_GE(info.subgroup_size, 8u);
  void* memory = nullptr;
  must(t.mem_alloc(t.self, 0, size, &memory));
  const uint32_t number = 1;
  const uint64_t pair[2] = {};
  for (void* const each : {memory, static_cast<void*>(nullptr)}) {
    const outback_argument arguments[] = {
        {&each, sizeof(each), 1}, {&number, sizeof(number), 0}, {pair, sizeof(pair), 0}};
    const outback_launch how = {sizeof(how), 3, arguments, {4, 2, 1}, {32, 2, 1}, 256};
    must(t.kernels->launch(t.self, 0, kernel, &how, s));
  }
  must(t.kernels->module_unload(t.self, 0, m));
  must(t.streams->sync(t.self, 0, s));
  must(t.mem_free(t.self, 0, memory));
  // The compiler would end the process.
  EXPECT_EQ(load(software_ze::spirv_of(sources, {}, 0x00010900), &none), OUTBACK_INVALID_ARGUMENT);
}

void use_everything() {
  unsetenv("ZE_ENABLE_ALT_DRIVERS");
  const outback_runtime& t = table();
  ASSERT_EQ(device_count(), 2);
  EXPECT_NE(info_of(0).memory_size, 0u);
  outback_stream s = nullptr;
  must(t.streams->create(t.self, 0, 0, &s));
  use_memory(t, s);
  use_events(t, s);
  use_kernels(t, s);
  static int runs = 0;
  must(t.callbacks->enqueue(t.self, 0, [](void*) { ++runs; }, nullptr, s));
  must(t.device_sync(t.self, 0));
  must(t.streams->destroy(t.self, 0, s));
  std::size_t free = 0, total = 0;
  must(t.device_state->memory_usage(t.self, 0, &free, &total));
  EXPECT_LE(free, total);
}

class IntelDriverTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    // Read when the driver is loaded, so before that.
    replace_environment({{"NEOReadDebugKeys", "1"},
                         {"SetCommandStreamReceiver", "1"},
                         {"ProductFamilyOverride", GetParam()},
                         {"AUBDumpCaptureFileName", "/dev/null"},
                         {"CreateMultipleRootDevices", "2"}});
    void* const driver = dlopen("libze_intel_gpu.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver == nullptr) {
      GTEST_SKIP() << "needs Intel's driver, which Debian's package intel-opencl-icd has";
    }
  }
};

TEST_P(IntelDriverTest, AcceptsWhatTheRuntimeCalls) {
  for (const char* layer : {"0", "1"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(
        ({{"ZE_ENABLE_VALIDATION_LAYER", layer}, {"ZE_ENABLE_PARAMETER_VALIDATION", layer}}),
        use_everything());
  }
}

INSTANTIATE_TEST_SUITE_P(Products, IntelDriverTest, testing::Values("skl", "tgllp"));

}  // namespace
}  // namespace outback::test_level_zero
