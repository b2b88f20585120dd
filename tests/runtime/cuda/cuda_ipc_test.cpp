// Handles that are not opened: the process's own, cut ones, those of other devices and kinds, and
// what CUDA refuses. What is opened, the suite tests, in two processes.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/runtime/cuda/every_slot.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CudaIpcTest : public testing::Test {
 protected:
  static constexpr int32_t d = slot_world::device;

  static outback_ipc_handle empty() {
    outback_ipc_handle handle = {};
    handle.struct_size = sizeof(handle);
    return handle;
  }
  outback_ipc_handle of_memory() {
    outback_ipc_handle handle = empty();
    EXPECT_EQ(t_.ipc->get_memory(t_.self, d, world_.memory, &handle), OUTBACK_OK);
    return handle;
  }
  outback_ipc_handle of_event() {
    outback_ipc_handle handle = empty();
    EXPECT_EQ(t_.ipc->get_event(t_.self, d, world_.shared, &handle), OUTBACK_OK);
    return handle;
  }
  // As if another process had made it: its mark is in the second four bytes.
  static outback_ipc_handle of_another_process(outback_ipc_handle handle) {
    handle.bytes[4] ^= 1;
    return handle;
  }
  outback_status open_memory(const outback_ipc_handle& handle, int32_t device = d) {
    return t_.ipc->open_memory(t_.self, device, &handle, &ptr_);
  }
  outback_status open_event(const outback_ipc_handle& handle) {
    return t_.ipc->open_event(t_.self, d, &handle, &event_);
  }
  void TearDown() override {
    fake().clear_faults();
    EXPECT_EQ(ptr_, nullptr);
    EXPECT_EQ(event_, nullptr);
  }

  slot_world world_;
  const outback_runtime& t_ = world_.t();
  void* ptr_ = nullptr;
  outback_event event_ = nullptr;
};

TEST_F(CudaIpcTest, ItsOwnAreNotOpened) {
  EXPECT_EQ(open_memory(of_memory()), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("made by this process"));
  EXPECT_EQ(open_event(of_event()), OUTBACK_INVALID_ARGUMENT);
}

TEST_F(CudaIpcTest, MemoryAndEventsAreNotMixedUp) {
  EXPECT_EQ(open_memory(of_another_process(of_event())), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(open_event(of_another_process(of_memory())), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("none of an event"));
}

TEST_F(CudaIpcTest, OnlyWholeOnesAreOpened) {
  EXPECT_EQ(open_memory(empty()), OUTBACK_INVALID_ARGUMENT);
  outback_ipc_handle cut = of_another_process(of_memory());
  --cut.size;
  EXPECT_EQ(open_memory(cut), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("all of its bytes"));
}

TEST_F(CudaIpcTest, MemoryIsOpenedWhereItIs) {
  EXPECT_EQ(open_memory(of_another_process(of_memory()), 0), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), AllOf(HasSubstr("another device"), HasSubstr("GPU-")));
}

TEST_F(CudaIpcTest, OnlyTheBeginningOfAnAllocationIsShared) {
  outback_ipc_handle handle = empty();
  auto* const inside = static_cast<std::byte*>(world_.memory) + 512;
  EXPECT_EQ(t_.ipc->get_memory(t_.self, d, inside, &handle), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.ipc->get_memory(t_.self, d, world_.pinned, &handle), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.ipc->get_memory(t_.self, 0, world_.memory, &handle), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(handle.size, 0u);
}

TEST_F(CudaIpcTest, WhatCudaRefusesIsTold) {
  const outback_ipc_handle memory = of_another_process(of_memory());
  const outback_ipc_handle event = of_another_process(of_event());
  ASSERT_EQ(fake().fail("cudaIpcOpenMemHandle", 1, cudaErrorNotSupported), 0);
  EXPECT_EQ(open_memory(memory), OUTBACK_UNSUPPORTED);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("(801): "));
  ASSERT_EQ(fake().fail("cudaIpcOpenEventHandle", 1, cudaErrorNotSupported), 0);
  EXPECT_EQ(open_event(event), OUTBACK_UNSUPPORTED);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("in cudaIpcOpenEventHandle"));
  // No memory of another process.
  EXPECT_EQ(t_.ipc->close_memory(t_.self, d, world_.memory), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("in cudaIpcCloseMemHandle"));
}

}  // namespace
}  // namespace outback::cuda
