// Modules, kernels and launches: what does not match is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/layers/validation_testing.hpp"

namespace outback::layers {
namespace {

class ValidatedKernelsTest : public validation_test {
 protected:
  void SetUp() override { use(whole_table()); }

  // As `expect_refused`, with a part of the text.
  template <class Call>
  void expect_refusal(Call&& call, const std::string& part) {
    set_faults(injected_, {{.every = 1, .status = OUTBACK_UNSUPPORTED}});
    EXPECT_EQ(call(), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(text_of(table_), testing::HasSubstr(part));
    set_faults(injected_, {});
  }
  outback_module load(int32_t device = 0) {
    outback_module made = nullptr;
    EXPECT_TRUE(ok(t_.kernels->module_load(self_, device, OUTBACK_FORMAT_HOST, "code", 4, &made)));
    return made;
  }
  outback_kernel kernel(outback_module of, int32_t device = 0, const char* name = "add") {
    outback_kernel found = nullptr;
    EXPECT_TRUE(ok(t_.kernels->kernel(self_, device, of, name, &found)));
    return found;
  }
  outback_status launch(outback_kernel k, void* ptr, uint32_t items = 1, uint32_t arguments = 3,
                        uint32_t groups = 1) {
    const uint64_t number = 7;
    const outback_argument all[] = {
        {&ptr, sizeof(ptr), 1}, {&number, sizeof(number), 0}, {&number, sizeof(number), 0}};
    const outback_launch how = {.struct_size = sizeof(how),
                                .argument_count = arguments,
                                .arguments = all,
                                .groups = {groups, 1, 1},
                                .items = {items, 1, 1},
                                .local_size = 0};
    return t_.kernels->launch(self_, 0, k, &how, nullptr);
  }
};

TEST_F(ValidatedKernelsTest, AKernelGoesWithItsModule) {
  const outback_module m = load();
  const outback_kernel k = kernel(m);
  EXPECT_EQ(kernel(m), k);
  EXPECT_TRUE(ok(launch(k, memory(0))));
  EXPECT_TRUE(ok(t_.kernels->module_unload(self_, 0, m)));
  expect_refusal([&] { return launch(k, nullptr); },
                 "kernels.launch: kernel is " + at(k) +
                     ": expected one of the kernels that this runtime made for device 0; it was "
                     "destroyed already");
  expect_refusal([&] { return t_.kernels->module_unload(self_, 0, m); },
                 "kernels.module_unload: module is " + at(m) +
                     ": expected one of the modules that this runtime made for device 0; it was "
                     "destroyed already");
  outback_kernel none = nullptr;
  expect_refusal([&] { return t_.kernels->kernel(self_, 0, m, "add", &none); },
                 "it was destroyed already");
}

TEST_F(ValidatedKernelsTest, AModuleThatTheRuntimeKeepsKeepsItsKernels) {
  const outback_module m = load(1);
  const outback_kernel k = kernel(m, 1);
  expect_refusal([&] { return launch(k, nullptr); }, "it is one of device 1");
  expect_refusal([&] { return t_.kernels->module_unload(self_, 0, m); }, "it is one of device 1");
  EXPECT_EQ(kernel(m, 1), k);
}

TEST_F(ValidatedKernelsTest, AModuleLeaksAndItsKernelsDoNot) {
  const outback_module m = load();
  kernel(m);
  EXPECT_EQ(leaks(table_), "outback: never freed or destroyed:\n  1 module of device 0:\n    " +
                               at(m) + ", object 1\n");
}

TEST_F(ValidatedKernelsTest, MemoryThatTheKernelCannotAccess) {
  const outback_kernel k = kernel(load());
  void* const own = memory(0);
  EXPECT_TRUE(ok(launch(k, static_cast<std::byte*>(own) + 8)));
  EXPECT_TRUE(ok(launch(k, nullptr)));
  EXPECT_TRUE(ok(launch(k, memory(1))));  // a peer
  ASSERT_TRUE(ok(t_.mem_free(self_, 0, own)));
  expect_refusal([&] { return launch(k, own); }, ", freed: expected memory that is still there");
}

TEST_F(ValidatedKernelsTest, MemoryOfADeviceThatIsNoPeer) {
  static outback_runtime without_peers = *whole_table();
  without_peers.peer = nullptr;
  use(&without_peers);
  const outback_kernel k = kernel(load());
  void* const other = memory(1);
  EXPECT_TRUE(ok(launch(k, memory(0))));
  expect_refusal([&] { return launch(k, other); },
                 "kernels.launch: arguments[0] is " + at(other) + ", in an allocation of device 1");
}

TEST_F(ValidatedKernelsTest, LaunchesThatDoNotFitTheKernel) {
  const outback_kernel k = kernel(load());
  EXPECT_TRUE(ok(launch(k, nullptr, 256)));
  EXPECT_TRUE(ok(launch(k, nullptr, 1, 3, 0)));
  expect_refusal([&] { return launch(k, nullptr, 257); },
                 "kernels.launch: items is 257 a group: expected at most 256");
  expect_refusal([&] { return launch(k, nullptr, 0); }, "launch->items is 0");
  expect_refusal([&] { return launch(k, nullptr, 1, 2); },
                 "kernels.launch: argument_count is 2: expected 3, as the kernel has");
  expect_refusal([&] { return launch(k, nullptr, 1, 1); }, "argument_count is 1: expected 3");
}

}  // namespace
}  // namespace outback::layers
