// Modules and launches, as far as the suite does not look: which bytes are refused in whose words,
// large local memory, and when the driver may unload a module.
#include <elf.h>
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "backend_template/runtimes/cuda/current.hpp"
#include "backend_template/runtimes/cuda/module.hpp"
#include "tests/runtime/cuda/every_slot.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string host_module() {
  std::ifstream file(OUTBACK_TEST_MODULE, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CudaKernelTest : public testing::Test {
 protected:
  static constexpr int32_t d = slot_world::device;
  static constexpr std::array<int32_t, 4> given = {1, 2, 3, 4};

  CudaKernelTest() {
    void* memory = nullptr;
    EXPECT_EQ(t_.mem_alloc(t_.self, d, sizeof(given), &memory), OUTBACK_OK);
    numbers_ = static_cast<int32_t*>(memory);
    write(given);
  }
  ~CudaKernelTest() override {
    if (module_ != nullptr) unload();
    EXPECT_EQ(t_.device_sync(t_.self, d), OUTBACK_OK);
    EXPECT_EQ(t_.mem_free(t_.self, d, numbers_), OUTBACK_OK);
    EXPECT_EQ(fake().violations(), 0) << fake().violation(0);
  }

  outback_status load(outback_format format, std::string_view bytes) {
    // Exactly the bytes, so that memory behind them is nobody's.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    return t_.kernels->module_load(t_.self, d, format, exact.data(), exact.size(), &module_);
  }
  void load_host_module() {
    ASSERT_EQ(load(OUTBACK_FORMAT_CUBIN, host_module()), OUTBACK_OK) << error();
  }
  void unload() {
    EXPECT_EQ(t_.kernels->module_unload(t_.self, d, std::exchange(module_, nullptr)), OUTBACK_OK);
  }
  // A load, which is one of the calls that may unload modules.
  void load_and_unload_another() {
    outback_module other = nullptr;
    ASSERT_EQ(t_.kernels->module_load(t_.self, d, OUTBACK_FORMAT_PTX, slot_world::ptx.data(),
                                      slot_world::ptx.size(), &other),
              OUTBACK_OK);
    EXPECT_EQ(t_.kernels->module_unload(t_.self, d, other), OUTBACK_OK);
  }
  static unsigned long long unloads() { return fake().calls("cuModuleUnload"); }

  outback_kernel kernel(const char* name) {
    outback_kernel found = nullptr;
    EXPECT_EQ(t_.kernels->kernel(t_.self, d, module_, name, &found), OUTBACK_OK) << error();
    return found;
  }
  outback_status launch(outback_kernel which, const std::vector<outback_argument>& arguments,
                        std::array<uint32_t, 3> groups, std::array<uint32_t, 3> items,
                        uint64_t local_size, outback_stream on) {
    outback_launch what = {};
    what.struct_size = sizeof(what);
    what.argument_count = uint32_t(arguments.size());
    what.arguments = arguments.data();
    std::copy(groups.begin(), groups.end(), what.groups);
    std::copy(items.begin(), items.end(), what.items);
    what.local_size = local_size;
    return t_.kernels->launch(t_.self, d, which, &what, on);
  }
  // Multiplies the numbers, with two groups of two items.
  outback_status scale(int32_t factor, outback_stream on) {
    const int32_t count = 4;
    return launch(kernel("scale"),
                  {{&numbers_, sizeof(numbers_), 1}, {&count, 4, 0}, {&factor, 4, 0}}, {2, 1, 1},
                  {2, 1, 1}, 0, on);
  }
  void write(const std::array<int32_t, 4>& values) {
    EXPECT_EQ(t_.mem_copy(t_.self, numbers_, d, values.data(), OUTBACK_HOST, sizeof(values),
                          world_.stream),
              OUTBACK_OK);
    EXPECT_EQ(t_.streams->sync(t_.self, d, world_.stream), OUTBACK_OK);
  }
  std::array<int32_t, 4> numbers() {
    std::array<int32_t, 4> read = {};
    EXPECT_EQ(t_.device_sync(t_.self, d), OUTBACK_OK);
    EXPECT_EQ(
        t_.mem_copy(t_.self, read.data(), OUTBACK_HOST, numbers_, d, sizeof(read), world_.stream),
        OUTBACK_OK);
    EXPECT_EQ(t_.streams->sync(t_.self, d, world_.stream), OUTBACK_OK);
    return read;
  }
  // Keeps the stream from going on until `open_` is set.
  void close(outback_stream which) {
    const auto wait = [](void* data) {
      while (!static_cast<std::atomic<bool>*>(data)->load()) std::this_thread::yield();
    };
    ASSERT_EQ(t_.callbacks->enqueue(t_.self, d, wait, &open_, which), OUTBACK_OK);
  }
  std::string error() const { return t_.last_error(t_.self); }

  std::atomic<bool> open_{false};
  slot_world world_;
  const outback_runtime& t_ = world_.t();
  int32_t* numbers_ = nullptr;
  outback_module module_ = nullptr;
};

// ---- Which bytes are a module

TEST_F(CudaKernelTest, TheFormatsAreMachineCodeForTheDeviceAndText) {
  outback_formats formats = {};
  formats.struct_size = sizeof(formats);
  ASSERT_EQ(t_.kernels->formats(t_.self, d, &formats), OUTBACK_OK);
  ASSERT_EQ(formats.count, 2u);
  EXPECT_EQ(formats.list[0], OUTBACK_FORMAT_CUBIN);
  EXPECT_EQ(formats.list[1], OUTBACK_FORMAT_PTX);
  EXPECT_STREQ(formats.target, "sm_90");
}

TEST_F(CudaKernelTest, AnErrorBeginsWithTheCompilersWords) {
  EXPECT_EQ(load(OUTBACK_FORMAT_PTX, "no assembly language"), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), AllOf(StartsWith("fake cuda: ptx input; fatal: Missing .version directive"),
                             HasSubstr("\ncudaErrorInvalidPtx (218): "),
                             HasSubstr(", in cuModuleLoadDataEx")));
}

TEST_F(CudaKernelTest, AnErrorWithoutALogBeginsWithCudas) {
  EXPECT_EQ(load(OUTBACK_FORMAT_PTX, "\x01\x02\x03\x04"), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), StartsWith("cudaErrorInvalidKernelImage (200): "));
}

TEST_F(CudaKernelTest, TextMayEndWithANullCharacterAndHasNoOther) {
  const std::string text(slot_world::ptx);
  EXPECT_EQ(load(OUTBACK_FORMAT_PTX, text + '\0'), OUTBACK_OK) << error();
  unload();
  EXPECT_EQ(load(OUTBACK_FORMAT_PTX, text + '\0' + text), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), HasSubstr("byte " + std::to_string(text.size()) +
                                 " of the module is a null character"));
  EXPECT_EQ(load(OUTBACK_FORMAT_PTX, host_module()), OUTBACK_INVALID_ARGUMENT);
}

TEST_F(CudaKernelTest, MachineCodeWhoseEndIsMissingIsRefused) {
  const std::string whole = host_module();
  for (const std::size_t size :
       {std::size_t{5}, std::size_t{64}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_EQ(load(OUTBACK_FORMAT_CUBIN, whole.substr(0, size)), OUTBACK_INVALID_ARGUMENT) << size;
    EXPECT_THAT(error(), HasSubstr("a cubin whose end is missing: it has " + std::to_string(size)));
  }
  // A section whose content would be behind the end.
  std::string longer = whole;
  Elf64_Ehdr elf;
  std::memcpy(&elf, whole.data(), sizeof(elf));
  const uint64_t size = whole.size();
  std::memcpy(longer.data() + elf.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
              &size, sizeof(size));
  EXPECT_EQ(load(OUTBACK_FORMAT_CUBIN, longer), OUTBACK_INVALID_ARGUMENT);
  // A fatbin's head: 16 bytes, of which the last 8 say that 100 more follow.
  const char fatbin[] = "\x50\xed\x55\xba\x01\x00\x10\x00\x64\x00\x00\x00\x00\x00\x00";
  const std::string head(fatbin, sizeof(fatbin));
  EXPECT_EQ(load(OUTBACK_FORMAT_CUBIN, head + std::string(99, 'x')), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), HasSubstr("a fatbin whose end is missing: it has 115"));
  EXPECT_EQ(load(OUTBACK_FORMAT_CUBIN, head + std::string(100, 'x')), OUTBACK_OK) << error();
}

TEST_F(CudaKernelTest, ForeignBytesAreRefused) {
  EXPECT_EQ(load(OUTBACK_FORMAT_CUBIN, "abcdefgh"), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), HasSubstr("neither a cubin nor a fatbin"));
  EXPECT_EQ(load(OUTBACK_FORMAT_SPIRV, "abcdefgh"), OUTBACK_UNSUPPORTED);
  EXPECT_THAT(error(), HasSubstr("OUTBACK_FORMAT_PTX, 3, not 2"));
}

// ---- Kernels

TEST_F(CudaKernelTest, AKernelIsTheSameEachTime) {
  load_host_module();
  EXPECT_EQ(kernel("scale"), kernel("scale"));
  outback_kernel none = nullptr;
  EXPECT_EQ(t_.kernels->kernel(t_.self, d, module_, "none", &none), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(),
              HasSubstr("the module has no kernel \"none\": cudaErrorSymbolNotFound (500)"));
  EXPECT_EQ(t_.kernels->kernel(t_.self, 0, module_, "scale", &none), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), HasSubstr("the module is of device 1, not of device 0"));
}

TEST_F(CudaKernelTest, TheDriversFactsAreTold) {
  load_host_module();
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(t_.kernels->info(t_.self, d, kernel("local_size"), &info), OUTBACK_OK);
  EXPECT_EQ(info.argument_count, 1);
  EXPECT_EQ(info.max_items, 64u);
  EXPECT_EQ(info.subgroup_size, 32u);
  EXPECT_GT(info.registers, 0u);
}

TEST_F(CudaKernelTest, AnOlderDriverDoesNotTellTheParameters) {
  driver older = fake_driver();
  older.cuFuncGetParamInfo.set(nullptr);
  device with_it(fake_cuda_functions(), older, d);
  const on_device here(with_it);
  std::string image = host_module();
  module loaded(with_it, load_image(with_it, {image.begin(), image.end()}));
  EXPECT_EQ(loaded.find("scale").argument_sizes, std::nullopt);
  EXPECT_EQ(older.cuModuleUnload(loaded.handle), CUDA_SUCCESS);
}

TEST_F(CudaKernelTest, ALaunchThatDoesNotFitIsRefused) {
  load_host_module();
  const outback_kernel scale = kernel("scale"), local = kernel("local_size");
  const outback_argument pointer = {&numbers_, sizeof(numbers_), 1};
  const int64_t number = 4;
  const outback_argument four = {&number, 4, 0}, eight = {&number, 8, 0};
  EXPECT_EQ(launch(scale, {pointer, four}, {1, 1, 1}, {1, 1, 1}, 0, nullptr),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), HasSubstr("the kernel scale has 3 arguments, and the launch gives 2"));
  EXPECT_EQ(launch(scale, {pointer, four, eight}, {1, 1, 1}, {1, 1, 1}, 0, nullptr),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), HasSubstr("argument 2 of the kernel scale has 4 bytes, and the launch gives "
                                 "8"));
  EXPECT_EQ(launch(local, {pointer}, {1, 1, 1}, {13, 5, 1}, 0, nullptr), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), HasSubstr("at most 64 items a group, and the launch asks for 65"));
  EXPECT_EQ(launch(local, {pointer}, {1, 70000, 1}, {1, 1, 1}, 0, nullptr),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), AllOf(HasSubstr("in cuLaunchKernel: the kernel local_size, 1 x 70000 x 1 "
                                       "groups of 1 x 1 x 1 items"),
                             HasSubstr("cudaErrorInvalidValue (1)")));
}

TEST_F(CudaKernelTest, NoGroupsAreNoLaunch) {
  load_host_module();
  const auto before = fake().calls("cuLaunchKernel");
  EXPECT_EQ(launch(kernel("fault"), {}, {1, 0, 1}, {1, 1, 1}, 0, nullptr), OUTBACK_OK);
  EXPECT_EQ(fake().calls("cuLaunchKernel"), before);
}

TEST_F(CudaKernelTest, AGroupMayHaveAllOfTheDevicesLocalMemory) {
  load_host_module();
  const outback_kernel which = kernel("local_size");
  const outback_argument pointer = {&numbers_, sizeof(numbers_), 1};
  for (const uint64_t size : {0, 1000, 49152, 49153, 232448}) {
    EXPECT_EQ(launch(which, {pointer}, {1, 1, 1}, {1, 1, 1}, size, world_.stream), OUTBACK_OK)
        << error();
    EXPECT_EQ(numbers()[0], int32_t(size));
  }
  EXPECT_EQ(launch(which, {pointer}, {1, 1, 1}, {1, 1, 1}, 232449, nullptr),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(error(), HasSubstr("at most 232448 bytes of local memory, and the launch asks for "
                                 "232449"));
}

TEST_F(CudaKernelTest, SeveralThreadsLaunchOneKernel) {
  load_host_module();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] { EXPECT_EQ(scale(3, world_.stream), OUTBACK_OK); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(numbers(), (std::array<int32_t, 4>{6561, 13122, 19683, 26244}));
}

TEST_F(CudaKernelTest, AFaultIsReportedLater) {
  // With a runtime of its own, since a device that was lost stays so.
  cuda_runtime other;
  const outback_runtime& t = *table_of(other);
  const std::string bytes = host_module();
  outback_module loaded = nullptr;
  outback_kernel fault = nullptr;
  ASSERT_EQ(
      t.kernels->module_load(t.self, d, OUTBACK_FORMAT_CUBIN, bytes.data(), bytes.size(), &loaded),
      OUTBACK_OK);
  ASSERT_EQ(t.kernels->kernel(t.self, d, loaded, "fault", &fault), OUTBACK_OK);
  outback_launch what = {};
  what.struct_size = sizeof(what);
  std::fill_n(what.groups, 3, 1), std::fill_n(what.items, 3, 1);
  EXPECT_EQ(t.kernels->launch(t.self, d, fault, &what, nullptr), OUTBACK_OK);
  EXPECT_EQ(t.streams->sync(t.self, d, nullptr), OUTBACK_DEVICE_LOST);
  EXPECT_THAT(t.last_error(t.self), HasSubstr("cudaErrorLaunchFailure (719): "));
  EXPECT_EQ(t.kernels->module_unload(t.self, d, loaded), OUTBACK_DEVICE_LOST);
  EXPECT_THAT(t.last_error(t.self), HasSubstr("was lost before"));
  fake().revive(d);
}

// ---- When a module is unloaded

TEST_F(CudaKernelTest, UnloadingDoesNotWaitForLaunches) {
  load_host_module();
  close(world_.stream);
  ASSERT_EQ(scale(10, world_.stream), OUTBACK_OK);
  const auto before = unloads();
  unload();
  load_and_unload_another();
  EXPECT_EQ(unloads(), before) << "a launch is pending";
  open_ = true;
  EXPECT_EQ(t_.streams->sync(t_.self, d, world_.stream), OUTBACK_OK);
  load_and_unload_another();
  EXPECT_EQ(unloads(), before + 2) << "the device was idle: the module, and the other one";
  EXPECT_EQ(numbers(), (std::array<int32_t, 4>{10, 20, 30, 40}));
}

TEST_F(CudaKernelTest, AWaitForTheDeviceUnloads) {
  load_host_module();
  ASSERT_EQ(scale(2, world_.stream), OUTBACK_OK);
  const auto before = unloads();
  unload();
  EXPECT_EQ(unloads(), before);
  EXPECT_EQ(t_.device_sync(t_.self, d), OUTBACK_OK);
  EXPECT_EQ(unloads(), before + 1);
}

TEST_F(CudaKernelTest, AGraphKeepsTheModuleOfItsLaunches) {
  load_host_module();
  ASSERT_EQ(t_.graphs->begin(t_.self, d, world_.capturing), OUTBACK_OK);
  ASSERT_EQ(scale(2, world_.capturing), OUTBACK_OK);
  ASSERT_EQ(t_.graphs->end(t_.self, d, world_.capturing, &world_.made_graph), OUTBACK_OK);
  unload();
  const auto before = unloads();
  EXPECT_EQ(t_.device_sync(t_.self, d), OUTBACK_OK);
  load_and_unload_another();
  ASSERT_EQ(t_.graphs->instantiate(t_.self, d, world_.made_graph), OUTBACK_OK);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(t_.graphs->launch(t_.self, d, world_.made_graph, world_.stream), OUTBACK_OK);
  }
  EXPECT_EQ(unloads(), before);
  EXPECT_EQ(numbers(), (std::array<int32_t, 4>{8, 16, 24, 32}));
}

TEST_F(CudaKernelTest, ACaptureGoesOnWhileModulesAreLoaded) {
  load_host_module();
  ASSERT_EQ(t_.graphs->begin(t_.self, d, world_.capturing), OUTBACK_OK);
  unload();
  load_and_unload_another();
  ASSERT_EQ(t_.graphs->end(t_.self, d, world_.capturing, &world_.made_graph), OUTBACK_OK)
      << error();
}

TEST_F(CudaKernelTest, LaunchesOfAStreamThatIsGoneMayBePending) {
  load_host_module();
  close(world_.stream);
  ASSERT_EQ(scale(5, world_.stream), OUTBACK_OK);
  EXPECT_EQ(t_.streams->destroy(t_.self, d, std::exchange(world_.stream, nullptr)), OUTBACK_OK);
  unload();
  const auto before = unloads();
  load_and_unload_another();
  EXPECT_EQ(unloads(), before);
  open_ = true;
  EXPECT_EQ(numbers(), (std::array<int32_t, 4>{5, 10, 15, 20}));
  EXPECT_EQ(unloads(), before + 2) << "numbers() waits for the device";
}

TEST_F(CudaKernelTest, TheStreamOfAThreadIsAnotherOneInOtherThreads) {
  load_host_module();
  ASSERT_EQ(t_.native->wrap_stream(t_.self, d, cudaStreamPerThread, &world_.wrapped), OUTBACK_OK);
  std::thread([&] { ASSERT_EQ(scale(7, world_.wrapped), OUTBACK_OK); }).join();
  unload();
  const auto before = unloads();
  load_and_unload_another();
  EXPECT_EQ(unloads(), before) << "this thread cannot ask that thread's stream";
  EXPECT_EQ(numbers(), (std::array<int32_t, 4>{7, 14, 21, 28}));
  EXPECT_EQ(unloads(), before + 2);
}

TEST(CudaCapabilityTest, OldDevicesLackShortFloatingPointNumbers) {
  EXPECT_EQ(missing_arithmetic({5, 2}), OUTBACK_NO_FLOAT16 | OUTBACK_NO_BFLOAT16);
  EXPECT_EQ(missing_arithmetic({5, 3}), uint32_t{OUTBACK_NO_BFLOAT16});
  EXPECT_EQ(missing_arithmetic({7, 5}), uint32_t{OUTBACK_NO_BFLOAT16});
  EXPECT_EQ(missing_arithmetic({8, 0}), 0u);
}

}  // namespace
}  // namespace outback::cuda
