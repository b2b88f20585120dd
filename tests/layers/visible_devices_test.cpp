// A list of devices is read as torch.cuda reads CUDA_VISIBLE_DEVICES, and the table has those
// devices, under their new numbers, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "outback/runtime_error.hpp"
#include "tests/layers/layers_testing.hpp"

namespace outback::layers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Devices whose UUIDs are 40000000-..., 40010000-..., 7f000000-...
struct with_uuids : whole_runtime {
  with_uuids() : whole_runtime(3) {}
  outback_device_info device_info(int32_t d) {
    outback_device_info info = whole_runtime::device_info(d);
    constexpr uint8_t first[] = {0x40, 0x40, 0x7f};
    info.uuid[0] = first[d];
    info.uuid[1] = d == 1 ? 1 : 0;
    return info;
  }
};

class VisibleDevicesTest : public testing::Test {
 protected:
  std::vector<int32_t> read(const char* list) { return parse_visible_devices(below_, list); }

  static int32_t count_of(const outback_runtime* table) {
    int32_t count = -1;
    EXPECT_EQ(table->device_count(table->self, &count), OUTBACK_OK);
    return count;
  }

  with_uuids& runtime_ = *new with_uuids;  // leaked, as a runtime is
  const outback_runtime* const below_ = table_of(runtime_);
};

TEST_F(VisibleDevicesTest, NumbersKeepTheirOrder) {
  EXPECT_THAT(read("2,0"), ElementsAre(2, 0));
  EXPECT_THAT(read(" 1 , 2 "), ElementsAre(1, 2));
  EXPECT_THAT(read("+1"), ElementsAre(1));
}

TEST_F(VisibleDevicesTest, WhatFollowsANumberIsIgnored) {
  EXPECT_THAT(read("1gpu2,2ampere"), ElementsAre(1, 2));
}

TEST_F(VisibleDevicesTest, NothingNamesNoDevice) {
  EXPECT_THAT(read(""), IsEmpty());
  EXPECT_THAT(read("-1"), IsEmpty());
  EXPECT_THAT(read("none"), IsEmpty());
}

TEST_F(VisibleDevicesTest, AnInvalidEntryEndsTheList) {
  EXPECT_THAT(read("1,-1,0"), ElementsAre(1));
  EXPECT_THAT(read("1,x,0"), ElementsAre(1));
  EXPECT_THAT(read("1,,0"), ElementsAre(1));
  EXPECT_THAT(read("1,3,0"), ElementsAre(1));
  EXPECT_THAT(read("0,99999999999999999999,1"), ElementsAre(0));
}

TEST_F(VisibleDevicesTest, ADeviceNamedTwiceEmptiesTheList) {
  EXPECT_THAT(read("0,1,0"), IsEmpty());
  EXPECT_THAT(read("0,9,9"), IsEmpty());
  EXPECT_THAT(read("0,-1,0"), ElementsAre(0));
}

TEST_F(VisibleDevicesTest, BeginningsOfUuidsNameDevices) {
  EXPECT_THAT(read("GPU-7f,GPU-4001"), ElementsAre(2, 1));
  EXPECT_THAT(read("GPU-40000000-0000-0000-0000-000000000000"), ElementsAre(0));
}

TEST_F(VisibleDevicesTest, AnAmbiguousOrUnknownUuidEndsTheList) {
  EXPECT_THAT(read("GPU-7f,GPU-40,GPU-4001"), ElementsAre(2));
  EXPECT_THAT(read("GPU-7f,GPU-55,GPU-4001"), ElementsAre(2));
  EXPECT_THAT(read("GPU-7f,1"), ElementsAre(2));
  EXPECT_THAT(read("GPU-7f,GPU-7f00"), IsEmpty());
}

TEST_F(VisibleDevicesTest, OnlyUuidsAskForProperties) {
  bool asked = false;
  runtime_.on_call = [&] { asked = true; };
  EXPECT_THAT(read("0"), ElementsAre(0));
  const bool asked_for_count = asked;  // device_count calls it too
  EXPECT_TRUE(asked_for_count);
  runtime_.on_call = [] { throw runtime_error(OUTBACK_INTERNAL, "no driver"); };
  EXPECT_THROW(read("GPU-7f"), runtime_error);
}

TEST_F(VisibleDevicesTest, TheTableHasTheseDevices) {
  const outback_runtime* table = select_devices(below_, {2, 1});
  EXPECT_EQ(table_problem(table), "");
  EXPECT_EQ(count_of(table), 2);
  EXPECT_EQ(count_of(select_devices(below_, {})), 0);
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(table->device_info(table->self, 0, &info), OUTBACK_OK);
  EXPECT_EQ(info.uuid[0], 0x7f);
  ASSERT_EQ(table->device_info(table->self, 1, &info), OUTBACK_OK);
  EXPECT_EQ(info.uuid[1], 1);
}

TEST_F(VisibleDevicesTest, OtherDevicesAreRefused) {
  const outback_runtime* table = select_devices(below_, {2, 1});
  EXPECT_EQ(table->device_sync(table->self, 2), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(text_of(table), HasSubstr("device is 2: expected one of 2 visible devices"));
  EXPECT_EQ(table->device_sync(table->self, -1), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(refusal_of([&] { select_devices(below_, {3}); }), HasSubstr("device 3"));
  EXPECT_THAT(refusal_of([&] { select_devices(below_, {1, 1}); }), HasSubstr("twice"));
}

// The memory is allocated below, so that the runtime itself refuses a wrong number.
TEST_F(VisibleDevicesTest, MemoryAndItsInfoTakeTheNewNumbers) {
  const outback_runtime* table = select_devices(below_, {2, 0});
  void* ptr = nullptr;
  ASSERT_EQ(table->mem_alloc(table->self, 0, 64, &ptr), OUTBACK_OK);
  outback_pointer_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(below_->host_memory->info(below_->self, ptr, &info), OUTBACK_OK);
  EXPECT_EQ(info.device, 2);
  ASSERT_EQ(table->host_memory->info(table->self, ptr, &info), OUTBACK_OK);
  EXPECT_EQ(info.device, 0);
  info.device = OUTBACK_HOST;
  info.size = 7;
  info.struct_size = offsetof(outback_pointer_info, size);  // an older caller's
  ASSERT_EQ(table->host_memory->info(table->self, ptr, &info), OUTBACK_OK);
  EXPECT_EQ(info.device, 0);
  EXPECT_EQ(info.size, 7u);
  EXPECT_EQ(table->host_memory->info(table->self, ptr, nullptr), OUTBACK_INVALID_ARGUMENT);
  char out[64], in[64] = "through the layer";
  ASSERT_EQ(table->mem_copy(table->self, ptr, 0, in, OUTBACK_HOST, sizeof(in), nullptr),
            OUTBACK_OK);
  ASSERT_EQ(table->mem_copy(table->self, out, OUTBACK_HOST, ptr, 0, sizeof(out), nullptr),
            OUTBACK_OK);
  EXPECT_STREQ(out, in);
  EXPECT_EQ(table->mem_free(table->self, 0, ptr), OUTBACK_OK);
}

// A caller and a runtime that both know a longer struct: the layer between them does not.
TEST_F(VisibleDevicesTest, ALongerStructIsWrittenAsFarAsItIsKnown) {
  struct newer {
    outback_pointer_info known = {};
    std::byte appended[256] = {};
  };
  static void* runtimes_self = below_->self;
  static const auto runtimes_info = below_->host_memory->info;
  open_table open(*below_);
  open.host_memory.info = [](void*, const void* ptr, outback_pointer_info* info) {
    const outback_status status = runtimes_info(runtimes_self, ptr, info);
    if (info->struct_size > sizeof(*info)) {  // no further than a `newer` goes
      std::memset(info + 1, 0x77, info->struct_size - sizeof(*info));
    }
    return status;
  };
  const outback_runtime* table = select_devices(&open.runtime, {2, 0});
  void* ptr = nullptr;
  ASSERT_EQ(table->mem_alloc(table->self, 0, 64, &ptr), OUTBACK_OK);
  newer asked;
  asked.known.struct_size = sizeof(asked);
  ASSERT_EQ(table->host_memory->info(table->self, ptr, &asked.known), OUTBACK_OK);
  EXPECT_EQ(asked.known.struct_size, sizeof(asked));
  EXPECT_EQ(asked.known.device, 0);
  EXPECT_EQ(asked.known.base, ptr);
  EXPECT_EQ(asked.appended[0], std::byte{0});
  EXPECT_EQ(table->mem_free(table->self, 0, ptr), OUTBACK_OK);
}

// The hidden device 0 is what a struct of zeros names.
TEST_F(VisibleDevicesTest, AStructWithoutADeviceNamesNoHiddenOne) {
  const outback_runtime* table = select_devices(below_, {1});
  void* ptr = nullptr;
  ASSERT_EQ(table->mem_alloc(table->self, 0, 64, &ptr), OUTBACK_OK);
  outback_pointer_info info = {};
  info.struct_size = offsetof(outback_pointer_info, device);
  EXPECT_EQ(table->host_memory->info(table->self, ptr, &info), OUTBACK_OK) << text_of(table);
  EXPECT_EQ(table->mem_free(table->self, 0, ptr), OUTBACK_OK);
}

TEST_F(VisibleDevicesTest, MemoryOfAHiddenDeviceIsNamed) {
  const outback_runtime* table = select_devices(below_, {0});
  void* ptr = nullptr;
  ASSERT_EQ(below_->mem_alloc(below_->self, 1, 64, &ptr), OUTBACK_OK);
  outback_pointer_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(table->host_memory->info(table->self, ptr, &info), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(text_of(table), HasSubstr("device 1 of the runtime, which is hidden"));
  EXPECT_EQ(below_->mem_free(below_->self, 1, ptr), OUTBACK_OK);
}

TEST_F(VisibleDevicesTest, PeersTakeTheNewNumbers) {
  const outback_runtime* table = select_devices(below_, {2, 0});
  int32_t above = -1, below = -1;
  ASSERT_EQ(table->peer->can_access(table->self, 0, 1, &above), OUTBACK_OK);
  ASSERT_EQ(below_->peer->can_access(below_->self, 2, 0, &below), OUTBACK_OK);
  EXPECT_EQ(above, below);
  ASSERT_EQ(table->peer->can_access(table->self, 1, 1, &above), OUTBACK_OK);
  EXPECT_EQ(above, 0);
}

}  // namespace
}  // namespace outback::layers
