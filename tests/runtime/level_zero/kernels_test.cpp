// What of modules and kernels is this runtime's own: what the driver gets and says, the lock around
// a launch, and how long a module stays in the driver.
#include <gmock/gmock.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "tests/fakes/level_zero/spirv_source.hpp"
#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

using software_ze::kernel_source;
using software_ze::parameter;
using software_ze::spirv_of;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

const kernel_source put{"put", {parameter::memory, parameter::number}, true};
const kernel_source all{"all",
                        {parameter::memory, parameter::pair, parameter::wide, parameter::local}};

const outback_kernels& kernels() {
  return *table().kernels;
}

outback_status load(const std::string& bytes, outback_module* made) {
  return kernels().module_load(table().self, 0, OUTBACK_FORMAT_SPIRV, bytes.data(), bytes.size(),
                               made);
}

outback_module loaded(const std::vector<kernel_source>& sources) {
  outback_module made = nullptr;
  must(load(spirv_of(sources), &made));
  return made;
}

void unload(outback_module given) {
  must(kernels().module_unload(table().self, 0, given));
}

outback_kernel found(outback_module in, const char* name) {
  outback_kernel made = nullptr;
  must(kernels().kernel(table().self, 0, in, name, &made));
  return made;
}

void* device_memory(std::size_t size) {
  void* made = nullptr;
  must(table().mem_alloc(table().self, 0, size, &made));
  return made;
}

struct argument {
  std::vector<unsigned char> bytes;
  bool is_memory;
};

template <class Value>
argument value_of(const Value& value) {
  argument made{std::vector<unsigned char>(sizeof(value)), std::is_pointer_v<Value>};
  std::memcpy(made.bytes.data(), &value, sizeof(value));
  return made;
}

outback_status launch(outback_kernel kernel, const std::vector<argument>& values,
                      uint64_t local_size = 0, outback_stream on = nullptr, uint32_t items = 64,
                      uint32_t groups = 4) {
  std::vector<outback_argument> arguments;
  for (const argument& each : values) {
    arguments.push_back({each.bytes.data(), uint32_t(each.bytes.size()), each.is_memory ? 1u : 0u});
  }
  const outback_launch how = {sizeof(how),      uint32_t(arguments.size()),
                              arguments.data(), {groups, 1, 1},
                              {items, 1, 1},    local_size};
  return kernels().launch(table().self, 0, kernel, &how, on);
}

void sync() {
  must(table().device_sync(table().self, 0));
}

std::string launch_text(std::size_t index) {
  char text[1000] = "";
  OUTBACK_ZE_CONTROL(outback_ze_launch)(index, text, sizeof(text));
  return text;
}

// As the driver writes the bytes of an argument.
std::string hex(const argument& value) {
  std::string text;
  for (const unsigned char each : value.bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += {digits[each >> 4], digits[each & 15]};
  }
  return text;
}

TEST(KernelsTest, ALaunchReachesTheDriver) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_module m = loaded({put, all});
    void* const memory = device_memory(64);
    const struct {
      uint64_t first;
      uint64_t second;
    } pair = {1, 2};
    const argument at = value_of(memory);
    const argument null = value_of(static_cast<void*>(nullptr));
    must(launch(found(m, "all"), {at, value_of(pair), value_of(uint64_t{3})}, 256));
    must(launch(found(m, "put"), {null, value_of(uint32_t{0x04030201})}));
    must(launch(found(m, "put"), {null, value_of(uint32_t{1})}, 0, nullptr, 64, 0));  // no groups
    sync();
    EXPECT_EQ(OUTBACK_ZE_CONTROL(outback_ze_launches)(), 2u);
    EXPECT_EQ(launch_text(0), "all: groups 4 1 1, items 64 1 1, " + hex(at) + ", " +
                                  hex(value_of(pair)) + ", 0300000000000000, local 256");
    EXPECT_EQ(launch_text(1), "put: groups 4 1 1, items 64 1 1, 0000000000000000, 01020304");
    unload(m);
  });
}

TEST(KernelsTest, TheDriversLogIsInTheError) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    outback_module none = nullptr;
    EXPECT_EQ(load(spirv_of({put}, {software_ze::capability::float16}), &none),
              OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(),
              "the device has no SPIR-V capability Float16\n"
              "zeModuleCreate: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE (0x70000004)");
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(live("build log"), 0u);
    unload(loaded({put}));
    EXPECT_EQ(live("build log"), 0u);
  });
}

// The log of a build that failed is then a handle that Debian's loader did not wrap.
TEST(KernelsTest, ALogThatTheLoaderDoesNotPassOnIsNotRead) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"ZE_ENABLE_LOADER_INTERCEPT", "1"}}), {
    outback_module none = nullptr;
    EXPECT_EQ(load(spirv_of({put}, {software_ze::capability::float16}), &none),
              OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(), "zeModuleCreate: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE (0x70000004)");
    EXPECT_EQ(calls("zeModuleBuildLogGetString"), 0u);
  });
}

TEST(KernelsTest, WhatIsNoSpirvOfTheDeviceDoesNotReachTheDriver) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    outback_module none = nullptr;
    EXPECT_EQ(load("kernel void put() {}", &none), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(),
              "the module is no SPIR-V: it does not begin with SPIR-V's number, 0x07230203");
    const std::string whole = spirv_of({put, all});
    for (std::size_t size = 4; size < whole.size(); ++size) {
      EXPECT_EQ(load(whole.substr(0, size), &none), OUTBACK_INVALID_ARGUMENT);
      EXPECT_THAT(last_error(), AnyOf("the module is no SPIR-V: its end is missing",
                                      "the SPIR-V module has no kernel"))
          << size;
    }
    EXPECT_EQ(load(spirv_of({put}, {}, 0x00010400), &none), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(),
              "the module is SPIR-V 1.4, and the device takes SPIR-V up to 1.2: compile it for "
              "that version");
    EXPECT_EQ(kernels().module_load(table().self, 0, OUTBACK_FORMAT_PTX, "x", 1, &none),
              OUTBACK_UNSUPPORTED);
    EXPECT_EQ(calls("zeModuleCreate"), 0u);
  });
}

TEST(KernelsTest, FactsAboutAKernel) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_module m = loaded({put, all});
    outback_kernel_info info = {};
    info.struct_size = sizeof(info);
    must(kernels().info(table().self, 0, found(m, "all"), &info));
    EXPECT_EQ(info.argument_count, 3);  // without the local memory
    EXPECT_EQ(info.max_items, 1024u);
    EXPECT_EQ(info.subgroup_size, 32u);
    EXPECT_EQ(found(m, "put"), found(m, "put"));
    EXPECT_EQ(calls("zeKernelCreate"), 2u);
    outback_kernel none = nullptr;
    EXPECT_EQ(kernels().kernel(table().self, 0, m, "puts", &none), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(), "the module has no kernel \"puts\"");
    EXPECT_EQ(kernels().kernel(table().self, 1, m, "put", &none), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(), "the module is of device 0, not of device 1");
    unload(m);
  });
}

TEST(KernelsTest, AWrongLaunchIsToldWhatIsWrong) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const kernel_source early{"early", {parameter::local, parameter::number}};
    const kernel_source fixed{"fixed", {parameter::number}, false, 32};
    const outback_module m = loaded({put, all, early, fixed});
    const argument memory = value_of(device_memory(64)), number = value_of(uint32_t{1});
    const auto refuses = [&](const char* name, const std::string& text,
                             const std::vector<argument>& values, uint64_t local = 0,
                             uint32_t items = 64) {
      EXPECT_EQ(launch(found(m, name), values, local, nullptr, items), OUTBACK_INVALID_ARGUMENT);
      EXPECT_THAT(last_error(), HasSubstr("the kernel " + std::string(name) + text));
    };
    refuses("put", " has 2 arguments, and the launch gives 1", {memory});
    refuses("put", " has 4 bytes in argument 1, and the launch gives 8", {memory, memory});
    refuses("put", " has no parameter for local memory, and the launch gives 64 bytes",
            {memory, number}, 64);
    refuses("put", " runs at most 1024 items a group in dimension x, and the launch asks for 1025",
            {memory, number}, 0, 1025);
    const std::vector<argument> three = {memory, value_of(std::pair<uint64_t, uint64_t>()),
                                         value_of(uint64_t{3})};
    refuses("all", " takes local memory, and the launch gives none", three);
    refuses("all", " gets at most 65536 bytes of local memory, and the launch asks for 65537",
            three, 65537);
    refuses("early", " has local memory as parameter 0, which only the last parameter may be",
            {number, number});
    // The driver knows more.
    EXPECT_EQ(launch(found(m, "fixed"), {number}), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), StartsWith("zeKernelSetGroupSize: ZE_RESULT_ERROR_INVALID_GROUP"));
    int pageable = 0;
    EXPECT_EQ(launch(found(m, "put"), {value_of(&pageable), number}), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(last_error(),
              "zeKernelSetArgumentValue: ZE_RESULT_ERROR_INVALID_ARGUMENT (0x78000004) for "
              "argument 0 of the kernel put: expected null, or memory that this device can use");
    EXPECT_EQ(calls("zeCommandListAppendLaunchKernel"), 0u);
    unload(m);
  });
}

// The driver, which is strict, ends the process if two threads use its kernel at once.
TEST(KernelsTest, EightThreadsLaunchOneKernel) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_module m = loaded({put});
    const outback_kernel kernel = found(m, "put");
    char* const memory = static_cast<char*>(device_memory(1000));
    constexpr uint32_t threads = 8, rounds = 100;
    std::vector<std::thread> running;
    for (uint32_t thread = 0; thread < threads; ++thread) {
      running.emplace_back([=] {
        for (uint32_t i = thread * rounds; i < (thread + 1) * rounds; ++i) {
          must(launch(kernel, {value_of(memory + i), value_of(i)}, 0, nullptr, 1 + i));
        }
      });
    }
    for (std::thread& each : running) each.join();
    sync();
    std::set<std::string> seen, expected;
    for (uint32_t i = 0; i < threads * rounds; ++i) {
      seen.insert(launch_text(i));
      expected.insert("put: groups 4 1 1, items " + std::to_string(1 + i) + " 1 1, " +
                      hex(value_of(memory + i)) + ", " + hex(value_of(i)));
    }
    EXPECT_EQ(seen, expected);
    unload(m);
  });
}

TEST(KernelsTest, AModuleStaysInTheDriverWhileALaunchIsPending) {
  for (const char* in_order : {"1", "0"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_IN_ORDER", in_order}}), {
      const outback_runtime& t = table();
      const argument memory = value_of(device_memory(64)), number = value_of(uint32_t{1});
      outback_stream s = nullptr;
      outback_stream gone = nullptr;
      must(t.streams->create(t.self, 0, 0, &s));
      must(t.streams->create(t.self, 0, 0, &gone));
      for (const outback_stream on : {s, gone}) {
        const outback_module m = loaded({put});
        OUTBACK_ZE_CONTROL(outback_ze_pause)();
        must(launch(found(m, "put"), {memory, number}, 0, on));
        if (on == gone) must(t.streams->destroy(t.self, 0, gone));
        unload(m);
        EXPECT_EQ(live("module"), 1u);
        EXPECT_EQ(live("kernel"), 1u);
        OUTBACK_ZE_CONTROL(outback_ze_resume)();
        sync();
        EXPECT_EQ(live("module"), 0u);
        EXPECT_EQ(live("kernel"), 0u);
      }
      // Another call for a module finds out too.
      const outback_module first = loaded({put});
      OUTBACK_ZE_CONTROL(outback_ze_pause)();
      must(launch(found(first, "put"), {memory, number}, 0, s));
      unload(first);
      OUTBACK_ZE_CONTROL(outback_ze_resume)();
      must(t.streams->sync(t.self, 0, s));
      while (live("module") != 1) unload(loaded({put}));
      EXPECT_EQ(live("module"), 1u);
    });
  }
}

TEST(KernelsTest, AnUnloadThatFailsKeepsTheModuleUntilASync) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const argument memory = value_of(device_memory(64)), number = value_of(uint32_t{1});
    const outback_module m = loaded({put});
    must(launch(found(m, "put"), {memory, number}));
    OUTBACK_ZE_CONTROL(outback_ze_fail)("zeCommandListAppendBarrier", 1, 0x7ffffffe);
    EXPECT_EQ(kernels().module_unload(table().self, 0, m), OUTBACK_INTERNAL);
    EXPECT_THAT(last_error(), StartsWith("zeCommandListAppendBarrier: ZE_RESULT_ERROR_UNKNOWN"));
    EXPECT_EQ(live("module"), 1u);
    sync();
    EXPECT_EQ(live("module"), 0u);
  });
}

TEST(KernelsTest, ModulesOfALostDevice) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const argument memory = value_of(device_memory(64)), number = value_of(uint32_t{1});
    const outback_module m = loaded({put});
    const outback_module pending = loaded({put});
    const outback_kernel kernel = found(m, "put");
    OUTBACK_ZE_CONTROL(outback_ze_pause)();
    must(launch(found(pending, "put"), {memory, number}));
    unload(pending);
    OUTBACK_ZE_CONTROL(outback_ze_lose_device)(0);
    EXPECT_EQ(launch(kernel, {memory, number}), OUTBACK_DEVICE_LOST);
    outback_module none = nullptr;
    EXPECT_EQ(load(spirv_of({put}), &none), OUTBACK_DEVICE_LOST);
    unload(m);
  });
}

TEST(KernelsTest, WhatTheDeviceComputesWith) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_MODULE_FLAGS", "0"}}), {
    EXPECT_EQ(info_of(0).flags & (OUTBACK_NO_FLOAT64 | OUTBACK_NO_FLOAT16 | OUTBACK_NO_BFLOAT16 |
                                  OUTBACK_NO_INT64_ATOMICS),
              uint32_t(OUTBACK_NO_FLOAT64 | OUTBACK_NO_FLOAT16 | OUTBACK_NO_BFLOAT16 |
                       OUTBACK_NO_INT64_ATOMICS));
  });
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_MODULE_FLAGS", "7"}}), {
    EXPECT_EQ(info_of(0).flags & (OUTBACK_NO_FLOAT64 | OUTBACK_NO_FLOAT16 | OUTBACK_NO_BFLOAT16 |
                                  OUTBACK_NO_INT64_ATOMICS),
              uint32_t(OUTBACK_NO_BFLOAT16));
  });
}

// The driver, which is strict, ends the process if the module was compiled for less.
TEST(KernelsTest, KernelsUseAllocationsOfMoreThan4GiB) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_MEMORY", "8G"}}), {
    const outback_module m = loaded({put});
    void* const memory = device_memory(std::size_t{5} << 30);
    must(launch(found(m, "put"), {value_of(memory), value_of(uint32_t{1})}));
    sync();
    unload(m);
  });
}

}  // namespace
}  // namespace outback::test_level_zero
