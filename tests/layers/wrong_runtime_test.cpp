// Each thing that a runtime can do wrong is told as OUTBACK_INTERNAL, and the caller's outputs
// stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "backend_template/layers/text.hpp"
#include "outback/runtime_error.hpp"
#include "tests/layers/layers_testing.hpp"

namespace outback::layers {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The runtime as it should be; slots of the wrong one call it. Slots are functions without a state.
const outback_runtime& right() {
  static const outback_runtime& table = *whole_table();
  return table;
}

class WrongRuntimeTest : public testing::Test {
 protected:
  open_table wrong_{right()};

  const outback_runtime* validated() { return table_ = validate(&wrong_.runtime); }
  std::string text() const { return text_of(table_); }

 private:
  const outback_runtime* table_ = nullptr;
};

TEST_F(WrongRuntimeTest, AFailureThatWroteItsOutput) {
  wrong_.runtime.mem_alloc = [](void*, int32_t, std::size_t, void** ptr) -> outback_status {
    *ptr = nullptr;
    return OUTBACK_OUT_OF_MEMORY;
  };
  wrong_.events.elapsed = [](void*, outback_event, outback_event, int64_t* ns) -> outback_status {
    *ns = 0;
    return OUTBACK_NOT_READY;
  };
  wrong_.runtime.device_info = [](void*, int32_t, outback_device_info* info) -> outback_status {
    info->flags = 1;
    return OUTBACK_INTERNAL;
  };
  const outback_runtime* t = validated();
  void* ptr = this;
  EXPECT_EQ(t->mem_alloc(t->self, 0, 64, &ptr), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), StartsWith("validation: mem_alloc: the runtime is wrong: it answered "
                                 "out_of_memory and wrote *ptr"));
  EXPECT_EQ(ptr, this);
  outback_event e = nullptr;
  int64_t ns = -7;
  ASSERT_EQ(t->events->create(t->self, 0, OUTBACK_EVENT_TIMING, &e), OUTBACK_OK);
  EXPECT_EQ(t->events->elapsed(t->self, e, e, &ns), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("answered not_ready and wrote *ns"));
  EXPECT_EQ(ns, -7);
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(t->device_info(t->self, 0, &info), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("answered internal and wrote *info"));
  EXPECT_EQ(info.flags, 0u);
}

TEST_F(WrongRuntimeTest, SuccessWithoutAResult) {
  wrong_.runtime.mem_alloc = [](void*, int32_t, std::size_t, void** ptr) -> outback_status {
    *ptr = nullptr;
    return OUTBACK_OK;
  };
  wrong_.streams.create = [](void*, int32_t, int32_t, outback_stream* s) -> outback_status {
    *s = nullptr;
    return OUTBACK_OK;
  };
  const outback_runtime* t = validated();
  void* ptr = this;
  outback_stream s = nullptr;
  EXPECT_EQ(t->mem_alloc(t->self, 0, 64, &ptr), OUTBACK_INTERNAL);
  EXPECT_EQ(text(),
            "validation: mem_alloc: the runtime is wrong: it answered ok and made *ptr null for "
            "64 bytes");
  EXPECT_EQ(ptr, this);
  EXPECT_EQ(t->mem_alloc(t->self, 0, 0, &ptr), OUTBACK_OK) << text();
  EXPECT_EQ(t->streams->create(t->self, 0, 0, &s), OUTBACK_INTERNAL);
  EXPECT_EQ(text(),
            "validation: streams.create: the runtime is wrong: it answered ok and made *stream "
            "null");
}

TEST_F(WrongRuntimeTest, SuccessThatWroteNothing) {
  wrong_.runtime.mem_alloc = [](void*, int32_t, std::size_t, void**) -> outback_status {
    return OUTBACK_OK;
  };
  wrong_.runtime.device_info = [](void*, int32_t, outback_device_info*) -> outback_status {
    return OUTBACK_OK;
  };
  wrong_.streams.create = [](void*, int32_t, int32_t, outback_stream*) -> outback_status {
    return OUTBACK_OK;
  };
  wrong_.device_state.memory_usage = [](void*, int32_t, std::size_t* free, std::size_t*) {
    *free = 0;
    return outback_status{OUTBACK_OK};
  };
  const outback_runtime* t = validated();
  const std::string wrong = ": the runtime is wrong: it answered ok and wrote nothing to *";
  void* ptr = this;
  for (const std::size_t size : {64, 0}) {
    EXPECT_EQ(t->mem_alloc(t->self, 0, size, &ptr), OUTBACK_INTERNAL);
    EXPECT_EQ(text(), "validation: mem_alloc" + wrong + "ptr");
    EXPECT_EQ(ptr, this);
  }
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(t->device_info(t->self, 1, &info), OUTBACK_INTERNAL);
  EXPECT_EQ(text(), "validation: device_info" + wrong + "info (device 1)");
  outback_stream s = nullptr;
  EXPECT_EQ(t->streams->create(t->self, 0, 0, &s), OUTBACK_INTERNAL);
  EXPECT_EQ(text(), "validation: streams.create" + wrong + "stream");
  std::size_t free = 7, total = 7;
  EXPECT_EQ(t->device_state->memory_usage(t->self, 0, &free, &total), OUTBACK_INTERNAL);
  EXPECT_EQ(text(), "validation: device_state.memory_usage" + wrong + "total");
  EXPECT_EQ(free, 7u);
}

TEST_F(WrongRuntimeTest, PropertiesThatCannotBe) {
  static void (*change)(outback_device_info&) = nullptr;
  wrong_.runtime.device_info = [](void* self, int32_t d, outback_device_info* info) {
    const outback_status status = right().device_info(self, d, info);
    change(*info);
    return status;
  };
  const outback_runtime* t = validated();
  const auto told = [&](void (*how)(outback_device_info&)) {
    change = how;
    outback_device_info info = {};
    info.struct_size = sizeof(info);
    EXPECT_EQ(t->device_info(t->self, 1, &info), OUTBACK_INTERNAL);
    EXPECT_EQ(info.memory_size, 0u);
    EXPECT_THAT(text(), HasSubstr("(device 1)"));
    return text();
  };
  EXPECT_THAT(told([](outback_device_info& i) { i.memory_size = 0; }),
              HasSubstr("made memory_size 0"));
  EXPECT_THAT(told([](outback_device_info& i) { i.alignment = 96; }),
              HasSubstr("made alignment 96: expected a power of two"));
  EXPECT_THAT(told([](outback_device_info& i) { i.kernels_of = 1, i.flags = 0; }),
              HasSubstr("expected OUTBACK_HOST_ADDRESSABLE"));
  EXPECT_THAT(told([](outback_device_info& i) { i.kernels_of = -1; }),
              HasSubstr("made kernels_of -1"));
  EXPECT_THAT(told([](outback_device_info& i) { std::memset(i.name, 'x', sizeof(i.name)); }),
              HasSubstr("left name without an end"));
  EXPECT_THAT(told([](outback_device_info& i) { std::strcpy(i.pci_id, "\xff"); }),
              HasSubstr("made pci_id \"\\xff\": expected UTF-8"));
}

TEST_F(WrongRuntimeTest, ANumberOfDevicesThatChanges) {
  static int32_t devices = 2;
  devices = 2;
  wrong_.runtime.device_count = [](void*, int32_t* count) -> outback_status {
    *count = devices;
    return OUTBACK_OK;
  };
  const outback_runtime* t = validated();
  int32_t count = 7;
  ASSERT_EQ(t->device_count(t->self, &count), OUTBACK_OK) << text();
  devices = 1;
  EXPECT_EQ(t->device_count(t->self, &count), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("it counted 1 devices, and 2 before"));
  EXPECT_EQ(count, 2);
  // Told once: from then on the calls are checked against the number that there is.
  EXPECT_EQ(t->device_count(t->self, &count), OUTBACK_OK) << text();
  EXPECT_EQ(count, 1);
  EXPECT_EQ(t->device_sync(t->self, 0), OUTBACK_OK) << text();
  EXPECT_EQ(t->device_sync(t->self, 1), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(text(), HasSubstr("device is 1: expected 0, the only device"));
}

TEST_F(WrongRuntimeTest, ADriverThatComesUpLater) {
  static int32_t devices = 0;
  devices = 0;
  wrong_.runtime.device_count = [](void*, int32_t* count) -> outback_status {
    *count = devices;
    return OUTBACK_OK;
  };
  const outback_runtime* t = validated();
  int32_t count = 7;
  ASSERT_EQ(t->device_count(t->self, &count), OUTBACK_OK) << text();
  EXPECT_EQ(t->device_sync(t->self, 1), OUTBACK_INVALID_ARGUMENT);
  devices = 2;
  EXPECT_EQ(t->device_sync(t->self, 1), OUTBACK_OK) << text();
  EXPECT_EQ(t->device_count(t->self, &count), OUTBACK_OK) << text();
  EXPECT_EQ(count, 2);
}

TEST_F(WrongRuntimeTest, APointerOfADeviceThatThereIsNot) {
  wrong_.host_memory.info = [](void*, const void*, outback_pointer_info* info) -> outback_status {
    info->device = 7;
    return OUTBACK_OK;
  };
  const outback_runtime* t = validated();
  outback_pointer_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(t->host_memory->info(t->self, this, &info), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("made device 7: expected -1 for the host, or one of 2 devices"));
}

TEST_F(WrongRuntimeTest, APointerOfAnAllocationThatDoesNotHoldIt) {
  wrong_.host_memory.info = [](void*, const void* ptr,
                               outback_pointer_info* info) -> outback_status {
    info->device = OUTBACK_HOST;
    info->pinned = 1;
    info->base = static_cast<char*>(const_cast<void*>(ptr)) + 1;
    if (info->struct_size == sizeof(*info)) info->size = 64;
    return OUTBACK_OK;
  };
  const outback_runtime* t = validated();
  outback_pointer_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(t->host_memory->info(t->self, this, &info), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("expected an allocation that holds it, or null and 0"));
  info.struct_size = offsetof(outback_pointer_info, size);  // who asks for half of it gets that
  EXPECT_EQ(t->host_memory->info(t->self, this, &info), OUTBACK_OK) << text();
}

TEST_F(WrongRuntimeTest, PrioritiesWithoutTheDefault) {
  wrong_.streams.priorities = [](void*, int32_t, int32_t* least, int32_t* greatest) {
    *least = -1;
    *greatest = -3;
    return outback_status{OUTBACK_OK};
  };
  const outback_runtime* t = validated();
  int32_t least = 7, greatest = 7;
  EXPECT_EQ(t->streams->priorities(t->self, 0, &least, &greatest), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("made *least -1 and *greatest -3"));
}

TEST_F(WrongRuntimeTest, ANumberOfDevicesOutOfWhichNoneIsChosen) {
  wrong_.runtime.device_count = [](void*, int32_t* count) -> outback_status {
    *count = -3;
    return OUTBACK_OK;
  };
  for (const char* list : {"0", "GPU-4"}) {
    try {
      parse_visible_devices(&wrong_.runtime, list);
      ADD_FAILURE() << list;
    } catch (const runtime_error& error) {
      EXPECT_EQ(error.status(), OUTBACK_INTERNAL);
      EXPECT_STREQ(error.what(), "device_count: the runtime is wrong: it counted -3 devices");
    }
  }
}

TEST_F(WrongRuntimeTest, AStatusThatTheSlotMayNotAnswer) {
  wrong_.runtime.device_sync = [](void*, int32_t) -> outback_status { return 42; };
  wrong_.streams.sync = [](void*, int32_t, outback_stream) -> outback_status {
    return OUTBACK_NOT_READY;
  };
  wrong_.streams.query = [](void*, int32_t, outback_stream) -> outback_status {
    return OUTBACK_NOT_READY;
  };
  const outback_runtime* t = validated();
  EXPECT_EQ(t->device_sync(t->self, 0), OUTBACK_INTERNAL);
  EXPECT_EQ(text(),
            "validation: device_sync: the runtime is wrong: it answered status 42, which there is "
            "not");
  EXPECT_EQ(t->streams->sync(t->self, 0, nullptr), OUTBACK_INTERNAL);
  EXPECT_EQ(text(),
            "validation: streams.sync: the runtime is wrong: it answered not_ready, which this "
            "slot may not");
  EXPECT_EQ(t->streams->query(t->self, 0, nullptr), OUTBACK_NOT_READY);
}

int freed = 0;

TEST_F(WrongRuntimeTest, MemoryThatIsMisaligned) {
  wrong_.runtime.mem_alloc = [](void* self, int32_t d, std::size_t size, void** ptr) {
    const outback_status status = right().mem_alloc(self, d, size + 64, ptr);
    *ptr = static_cast<std::byte*>(*ptr) + 8;
    return status;
  };
  wrong_.runtime.mem_free = [](void* self, int32_t d, void* ptr) {
    ++freed;
    return right().mem_free(self, d, static_cast<std::byte*>(ptr) - 8);
  };
  freed = 0;
  const outback_runtime* t = validated();
  void* ptr = this;
  EXPECT_EQ(t->mem_alloc(t->self, 0, 64, &ptr), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr(", which is not aligned to 64 bytes"));
  EXPECT_EQ(ptr, this);
  EXPECT_EQ(freed, 1) << "the runtime has lost it";
  EXPECT_EQ(leaks(t), "");
}

TEST_F(WrongRuntimeTest, MemoryThatIsSomebodysAlready) {
  static std::byte* first = nullptr;
  wrong_.runtime.mem_alloc = [](void* self, int32_t d, std::size_t size, void** ptr) {
    if (first != nullptr) {
      *ptr = first + 64;
      return outback_status{OUTBACK_OK};
    }
    const outback_status status = right().mem_alloc(self, d, size, ptr);
    first = static_cast<std::byte*>(*ptr);
    return status;
  };
  const outback_runtime* t = validated();
  void *ptr = nullptr, *again = this;
  ASSERT_EQ(t->mem_alloc(t->self, 0, 128, &ptr), OUTBACK_OK) << text();
  EXPECT_EQ(t->mem_alloc(t->self, 0, 128, &again), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("which overlaps an allocation of device 0, 128 bytes from"));
  EXPECT_EQ(again, this);
  EXPECT_EQ(t->mem_free(t->self, 0, ptr), OUTBACK_OK) << "the first one is still whole";
}

TEST_F(WrongRuntimeTest, AHandleThatIsSomebodysAlready) {
  wrong_.streams.create = [](void*, int32_t, int32_t, outback_stream* s) -> outback_status {
    *s = reinterpret_cast<outback_stream>(&freed);
    return OUTBACK_OK;
  };
  const outback_runtime* t = validated();
  outback_stream s = nullptr;
  ASSERT_EQ(t->streams->create(t->self, 0, 0, &s), OUTBACK_OK);
  EXPECT_EQ(t->streams->create(t->self, 0, 0, &s), OUTBACK_INTERNAL);
  EXPECT_EQ(text(),
            "validation: streams.create: the runtime is wrong: it made a stream that is there "
            "already: " +
                address_text(&freed) + " (object 1)");
  EXPECT_EQ(t->streams->create(t->self, 1, 0, &s), OUTBACK_OK) << "another device's may be equal";
}

TEST_F(WrongRuntimeTest, AStructThatIsWrittenBeyondItsEnd) {
  wrong_.runtime.device_info = [](void* self, int32_t d, outback_device_info* info) {
    const uint32_t size = info->struct_size;
    info->struct_size = offsetof(outback_device_info, name);
    const outback_status status = right().device_info(self, d, info);
    info->struct_size = size;
    info->name[0] = 'x';
    return status;
  };
  const outback_runtime* t = validated();
  outback_device_info info = {};
  info.struct_size = offsetof(outback_device_info, name);
  EXPECT_EQ(t->device_info(t->self, 0, &info), OUTBACK_INTERNAL);
  EXPECT_EQ(text(),
            "validation: device_info: the runtime is wrong: it wrote beyond the end of *info");
  info.struct_size = sizeof(info);
  EXPECT_EQ(t->device_info(t->self, 0, &info), OUTBACK_OK) << text();
  EXPECT_EQ(info.name[0], 'x');
}

TEST_F(WrongRuntimeTest, ANumberOfDevicesBelowZero) {
  wrong_.runtime.device_count = [](void*, int32_t* count) -> outback_status {
    *count = -3;
    return OUTBACK_OK;
  };
  const outback_runtime* t = validated();
  int32_t count = 7;
  EXPECT_EQ(t->device_count(t->self, &count), OUTBACK_INTERNAL);
  EXPECT_EQ(text(), "validation: device_count: the runtime is wrong: it counted -3 devices");
  EXPECT_EQ(count, 7);
}

TEST_F(WrongRuntimeTest, ACaptureStatusThatThereIsNot) {
  wrong_.graphs.status = [](void*, int32_t, outback_stream, outback_capture* capture) {
    *capture = 3;
    return outback_status{OUTBACK_OK};
  };
  const outback_runtime* t = validated();
  outback_capture capture = -7;
  EXPECT_EQ(t->graphs->status(t->self, 0, nullptr, &capture), OUTBACK_INTERNAL);
  EXPECT_EQ(text(),
            "validation: graphs.status: the runtime is wrong: it made *capture 3, which there is "
            "not");
  EXPECT_EQ(capture, -7);
}

TEST_F(WrongRuntimeTest, ADeviceThatIsAPeerOfItself) {
  wrong_.peer.can_access = [](void*, int32_t, int32_t, int32_t* can) {
    *can = 1;
    return outback_status{OUTBACK_OK};
  };
  const outback_runtime* t = validated();
  int32_t can = -7;
  EXPECT_EQ(t->peer->can_access(t->self, 1, 1, &can), OUTBACK_INTERNAL);
  EXPECT_EQ(text(),
            "validation: peer.can_access: the runtime is wrong: it made device 1 a peer of itself");
  EXPECT_EQ(can, -7);
  EXPECT_EQ(t->peer->can_access(t->self, 1, 0, &can), OUTBACK_OK);
}

TEST_F(WrongRuntimeTest, AnIpcHandleThatCannotBe) {
  wrong_.ipc.get_memory = [](void*, int32_t device, void*, outback_ipc_handle* handle) {
    handle->size = device == 0 ? 113 : 0;
    handle->fd = -2;
    return outback_status{OUTBACK_OK};
  };
  wrong_.ipc.open_memory = [](void*, int32_t, const outback_ipc_handle*, void** ptr) {
    *ptr = nullptr;
    return outback_status{OUTBACK_OK};
  };
  const outback_runtime* t = validated();
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(t->mem_alloc(t->self, 0, 64, &first), OUTBACK_OK);
  ASSERT_EQ(t->mem_alloc(t->self, 1, 64, &second), OUTBACK_OK);
  outback_ipc_handle handle = {};
  handle.struct_size = sizeof(handle);
  EXPECT_EQ(t->ipc->get_memory(t->self, 0, first, &handle), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("made a handle of 113 bytes, and there is room for 112"));
  EXPECT_EQ(t->ipc->get_memory(t->self, 1, second, &handle), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("made a handle with the descriptor -2"));
  EXPECT_EQ(handle.fd, 0);
  void* ptr = this;
  EXPECT_EQ(t->ipc->open_memory(t->self, 0, &handle, &ptr), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("answered ok and made *ptr null"));
  EXPECT_EQ(ptr, this);
}

TEST_F(WrongRuntimeTest, AGraphThatIsNull) {
  wrong_.graphs.end = [](void*, int32_t, outback_stream, outback_graph* graph) {
    *graph = nullptr;
    return outback_status{OUTBACK_OK};
  };
  const outback_runtime* t = validated();
  outback_graph g = nullptr;
  ASSERT_EQ(t->graphs->begin(t->self, 0, nullptr), OUTBACK_OK);
  EXPECT_EQ(t->graphs->end(t->self, 0, nullptr, &g), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), HasSubstr("answered ok and made *graph null"));
}

TEST_F(WrongRuntimeTest, ATextThatIsNull) {
  wrong_.runtime.last_error = [](void*) -> const char* { return nullptr; };
  const outback_runtime* t = validated();
  EXPECT_STREQ(t->last_error(t->self), "");
}

TEST_F(WrongRuntimeTest, ARuntimeThatCannotCountSpeaksForItself) {
  wrong_.runtime.device_count = [](void*, int32_t*) -> outback_status { return OUTBACK_INTERNAL; };
  const outback_runtime* t = validated();
  EXPECT_EQ(t->device_sync(t->self, 77), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(text(), "there is no device 77: they are 0 to 1");
}

}  // namespace
}  // namespace outback::layers
