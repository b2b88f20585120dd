// Modules, kernels and launches: what the driver refuses, what it records, and the rules that it
// watches.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tests/fakes/level_zero/client.hpp"
#include "tests/fakes/level_zero/spirv_source.hpp"

namespace outback::software_ze {
namespace {

using ::testing::HasSubstr;

const kernel_source put{"put", {parameter::memory, parameter::number}, true};

class KernelsTest : public testing::driver_test {
 protected:
  ze_result_t build(const std::string& bytes, ze_module_handle_t* made, std::string* said) {
    ze_module_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    desc.inputSize = bytes.size();
    desc.pInputModule = reinterpret_cast<const uint8_t*>(bytes.data());
    ze_module_build_log_handle_t log = nullptr;
    const auto result = ZE(zeModuleCreate)(context, devices[0], &desc, made, said ? &log : nullptr);
    if (!said) return result;
    size_t size = 0;
    EXPECT_SUCCESS(ZE(zeModuleBuildLogGetString)(log, &size, nullptr));
    said->resize(size);
    EXPECT_SUCCESS(ZE(zeModuleBuildLogGetString)(log, &size, said->data()));
    said->resize(size - 1);  // without its null
    EXPECT_SUCCESS(ZE(zeModuleBuildLogDestroy)(log));
    return result;
  }

  void expect_refused(const std::string& bytes, const std::string& text) {
    ze_module_handle_t made = nullptr;
    std::string said;
    EXPECT_EQ(build(bytes, &made, &said), ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    EXPECT_THAT(said, HasSubstr(text));
    EXPECT_EQ(made, nullptr);
  }

  ze_module_handle_t module_of(const std::vector<kernel_source>& kernels) {
    ze_module_handle_t made = nullptr;
    std::string said;
    EXPECT_SUCCESS(build(spirv_of(kernels), &made, &said));
    EXPECT_EQ(said, "");
    return made;
  }

  ze_kernel_handle_t kernel_of(ze_module_handle_t of, const char* name) {
    const ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, name};
    ze_kernel_handle_t made = nullptr;
    EXPECT_SUCCESS(ZE(zeKernelCreate)(of, &desc, &made));
    return made;
  }

  template <class Value>
  static ze_result_t set(ze_kernel_handle_t kernel, uint32_t index, const Value& value) {
    return ZE(zeKernelSetArgumentValue)(kernel, index, sizeof value, &value);
  }

  static ze_result_t launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel) {
    const ze_group_count_t groups{2, 3, 4};
    return ZE(zeCommandListAppendLaunchKernel)(list, kernel, &groups, nullptr, 0, nullptr);
  }

  static std::string last_launch() {
    char text[1000] = "";
    const uint64_t count = CONTROL(outback_ze_launches)();
    if (count > 0) CONTROL(outback_ze_launch)(count - 1, text, sizeof text);
    return text;
  }

  void destroy(ze_module_handle_t module, ze_kernel_handle_t kernel) {
    EXPECT_SUCCESS(ZE(zeKernelDestroy)(kernel));
    EXPECT_SUCCESS(ZE(zeModuleDestroy)(module));
    EXPECT_EQ(CONTROL(outback_ze_live)("module") + CONTROL(outback_ze_live)("kernel") +
                  CONTROL(outback_ze_live)("build log"),
              0u);
  }
};

TEST_F(KernelsTest, WhatIsNoModuleIsRefused) {
  const std::string whole = spirv_of({put});
  expect_refused("kernel void put() {}", "magic");
  for (std::size_t size = 4; size < whole.size(); ++size) {
    ze_module_handle_t made = nullptr;
    EXPECT_EQ(build(whole.substr(0, size), &made, nullptr), ZE_RESULT_ERROR_MODULE_BUILD_FAILURE)
        << size << " of " << whole.size() << " bytes";
  }
  expect_refused(spirv_of({put}, {capability::float16}), "Float16");
  expect_refused(spirv_of({put}, {}, 0x00010400), "newer");
}

TEST_F(KernelsTest, WhatSpirvValRefusesIsRefused) {
  if (std::system("spirv-val --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "needs spirv-val, which Debian's package spirv-tools has";
  }
  std::string wrong = spirv_of({put});
  const uint32_t store = 5u << 16 | 62, barrier = 5u << 16 | 61;  // OpStore becomes OpLoad
  const auto at = wrong.find(std::string(reinterpret_cast<const char*>(&store), sizeof store));
  ASSERT_NE(at, std::string::npos);
  std::memcpy(&wrong[at], &barrier, sizeof barrier);
  expect_refused(wrong, "error: line");
}

TEST_F(KernelsTest, TheDeviceComesToALaunch) {
  const kernel_source all{
      "all", {parameter::memory, parameter::number, parameter::pair, parameter::local}};
  const auto module = module_of({put, all});
  const auto kernel = kernel_of(module, "all");
  const auto list = immediate_list();
  struct {
    uint64_t first, second;
  } pair{0x0807060504030201, 0x0c0b0a09};
  EXPECT_SUCCESS(ZE(zeKernelSetGroupSize)(kernel, 8, 4, 2));
  EXPECT_SUCCESS(ZE(zeKernelSetArgumentValue)(kernel, 0, sizeof(void*), nullptr));
  EXPECT_SUCCESS(set(kernel, 1, uint32_t{0x01020304}));
  EXPECT_SUCCESS(set(kernel, 2, pair));
  EXPECT_SUCCESS(ZE(zeKernelSetArgumentValue)(kernel, 3, 256, nullptr));
  const uint64_t before = CONTROL(outback_ze_launches)();
  CONTROL(outback_ze_pause)();
  EXPECT_SUCCESS(launch(list, kernel));
  EXPECT_SUCCESS(set(kernel, 1, uint32_t{5}));  // of the next launch
  EXPECT_EQ(CONTROL(outback_ze_launches)(), before);
  CONTROL(outback_ze_resume)();
  wait_for(list);
  EXPECT_EQ(CONTROL(outback_ze_launches)(), before + 1);
  EXPECT_EQ(last_launch(),
            "all: groups 2 3 4, items 8 4 2, 0000000000000000, 04030201, "
            "0102030405060708090a0b0c00000000, local 256");
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  destroy(module, kernel);
}

TEST_F(KernelsTest, ArgumentsAndGroupsAreChecked) {
  const auto module = module_of({{"fixed", {parameter::memory, parameter::local}, false, 64}});
  const auto kernel = kernel_of(module, "fixed");
  ze_kernel_handle_t none = nullptr;
  const ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "other"};
  EXPECT_EQ(ZE(zeKernelCreate)(module, &desc, &none), ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
  EXPECT_EQ(ZE(zeKernelSetGroupSize)(kernel, 32, 1, 1),
            ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  EXPECT_SUCCESS(ZE(zeKernelSetGroupSize)(kernel, 64, 1, 1));
  EXPECT_EQ(set(kernel, 2, 0), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  EXPECT_EQ(set(kernel, 0, uint32_t{0}), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  EXPECT_EQ(set(kernel, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  int pageable = 0;
  EXPECT_EQ(set(kernel, 0, &pageable), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(ZE(zeKernelSetArgumentValue)(kernel, 1, 65537, nullptr),
            ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  ze_kernel_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  EXPECT_SUCCESS(ZE(zeKernelGetProperties)(kernel, &properties));
  EXPECT_EQ(properties.numKernelArgs, 2u);
  EXPECT_EQ(properties.requiredGroupSizeX, 64u);
  destroy(module, kernel);
}

TEST_F(KernelsTest, WrongLaunchesAreViolations) {
  const auto module = module_of({put});
  const auto kernel = kernel_of(module, "put");
  const auto list = immediate_list();
  const auto other = immediate_list(0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, 1);
  EXPECT_SUCCESS(set(kernel, 1, uint32_t{1}));
  EXPECT_EQ(launch(list, kernel), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("argument 0 of put was never set");
  std::byte* const memory = device_memory(4);
  EXPECT_SUCCESS(set(kernel, 0, memory));
  EXPECT_EQ(launch(other, kernel), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("the kernel is another device's");
  free_memory(memory);
  EXPECT_EQ(launch(list, kernel), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("it was freed, or never allocated");
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(other));
  destroy(module, kernel);
}

TEST_F(KernelsTest, MoreThan4GiBTakesAnOption) {
  ze_relaxed_allocation_limits_exp_desc_t any_size{};
  any_size.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
  any_size.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
  const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &any_size, 0, 0};
  void* memory = nullptr;
  const auto result =
      ZE(zeMemAllocDevice)(context, &desc, std::size_t{5} << 30, 64, devices[0], &memory);
  if (result != ZE_RESULT_SUCCESS) GTEST_SKIP() << "needs OUTBACK_ZE_MEMORY=8G";
  const auto module = module_of({put});
  const auto kernel = kernel_of(module, "put");
  const auto list = immediate_list();
  EXPECT_SUCCESS(set(kernel, 0, memory));
  EXPECT_SUCCESS(set(kernel, 1, uint32_t{1}));
  EXPECT_EQ(launch(list, kernel), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("-ze-opt-greater-than-4GB-buffer-required");
  free_memory(memory);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  destroy(module, kernel);
}

TEST_F(KernelsTest, TheEndOfWhatIsInUseIsAViolation) {
  const auto module = module_of({put});
  const auto kernel = kernel_of(module, "put");
  const auto list = immediate_list();
  std::byte* const memory = device_memory(4);
  EXPECT_SUCCESS(set(kernel, 0, memory));
  EXPECT_SUCCESS(set(kernel, 1, uint32_t{1}));
  CONTROL(outback_ze_pause)();
  EXPECT_SUCCESS(launch(list, kernel));
  EXPECT_SUCCESS(ZE(zeModuleDestroy)(module));
  expect_violation("1 of its kernels live");
  EXPECT_SUCCESS(ZE(zeKernelDestroy)(kernel));
  expect_violation("the kernel is destroyed while a launch of it is pending");
  CONTROL(outback_ze_resume)();
  wait_for(list);
  free_memory(memory);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
}

TEST_F(KernelsTest, TwoThreadsAtOneKernelAreAViolation) {
  const auto module = module_of({put});
  const auto kernel = kernel_of(module, "put");
  const uint64_t before = CONTROL(outback_ze_violations)();
  const auto begin = std::chrono::steady_clock::now();
  const auto set_often = [&] {
    while (CONTROL(outback_ze_violations)() == before &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(60)) {
      set(kernel, 1, uint32_t{1});
    }
  };
  std::thread other(set_often);
  set_often();
  other.join();
  expect_violation("two threads use one kernel at once");
  destroy(module, kernel);
}

TEST_F(KernelsTest, AnOpenClDriverExecutes) {
  const char* const execute = std::getenv("OUTBACK_ZE_EXECUTE");
  if (!execute || std::string(execute) != "opencl") {
    GTEST_SKIP() << "needs OUTBACK_ZE_EXECUTE=opencl, and a driver of a CPU that takes SPIR-V";
  }
  const auto module = module_of({put});
  const auto kernel = kernel_of(module, "put");
  const auto list = immediate_list();
  std::byte* const memory = device_memory(64);
  std::byte* const seen = host_memory(64);
  EXPECT_SUCCESS(set(kernel, 0, memory + 8));
  EXPECT_SUCCESS(set(kernel, 1, uint32_t{0x01020304}));
  EXPECT_SUCCESS(launch(list, kernel));
  EXPECT_SUCCESS(ZE(zeCommandListAppendBarrier)(list, nullptr, 0, nullptr));
  EXPECT_SUCCESS(ZE(zeCommandListAppendMemoryCopy)(list, seen, memory, 64, nullptr, 0, nullptr));
  EXPECT_SUCCESS(ZE(zeCommandListAppendBarrier)(list, nullptr, 0, nullptr));
  wait_for(list);
  uint32_t number = 0;
  std::memcpy(&number, seen + 8, sizeof number);
  EXPECT_EQ(number, 0x01020304u);
  free_memory(memory);
  free_memory(seen);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  destroy(module, kernel);
}

}  // namespace
}  // namespace outback::software_ze
