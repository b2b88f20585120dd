// Which slots make a context: a program of its own, in which no device has one before.
#include <gtest/gtest.h>

#include <cstring>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

class CudaContextTest : public testing::Test {
 protected:
  static bool any_context() {
    return fake().context_active(0) || fake().context_active(1) || fake().context_active(2);
  }

  const fake_functions& fake_ = fake();
  cuda_runtime runtime_;
  const outback_runtime& t_ = *table_of(runtime_);
};

TEST_F(CudaContextTest, CountingDoesNotEvenStartCuda) {
  const auto before = fake().calls("cudaGetDeviceCount");
  int32_t count = 0;
  EXPECT_EQ(t_.device_count(t_.self, &count), OUTBACK_OK);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(fake().calls("cudaGetDeviceCount"), before);
}

TEST_F(CudaContextTest, WhatOnlyAsksMakesNone) {
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  outback_pointer_info pointer = {};
  pointer.struct_size = sizeof(pointer);
  int32_t number = -1;
  int64_t metric = 0;
  void* handle = nullptr;
  EXPECT_EQ(t_.device_info(t_.self, 1, &info), OUTBACK_OK);
  EXPECT_EQ(t_.device_state->is_active(t_.self, 1, &number), OUTBACK_OK);
  EXPECT_EQ(number, 0);
  EXPECT_EQ(t_.peer->can_access(t_.self, 1, 2, &number), OUTBACK_OK);
  EXPECT_EQ(t_.native->device(t_.self, 1, &handle), OUTBACK_OK);
  EXPECT_EQ(handle, reinterpret_cast<void*>(intptr_t{1}));
  EXPECT_EQ(t_.host_memory->info(t_.self, &number, &pointer), OUTBACK_OK);
  EXPECT_EQ(t_.telemetry->read(t_.self, 1, OUTBACK_METRIC_TEMPERATURE, &metric), OUTBACK_OK);
  EXPECT_EQ(t_.mem_alloc(t_.self, 1, 0, &handle), OUTBACK_OK);
  EXPECT_EQ(t_.mem_free(t_.self, 1, nullptr), OUTBACK_OK);
  EXPECT_FALSE(any_context());
}

TEST_F(CudaContextTest, OneOfOthersIsSeen) {
  CUcontext context = nullptr;
  ASSERT_EQ(fake_driver().cuDevicePrimaryCtxRetain(&context, 2), CUDA_SUCCESS);
  int32_t active = 0;
  EXPECT_EQ(t_.device_state->is_active(t_.self, 2, &active), OUTBACK_OK);
  EXPECT_EQ(active, 1);
  // Pinned memory belongs to no device; it is made where a context is.
  void* pinned = nullptr;
  EXPECT_EQ(t_.host_memory->alloc(t_.self, 64, &pinned), OUTBACK_OK);
  EXPECT_FALSE(fake().context_active(0));
  EXPECT_FALSE(fake().context_active(1));
  EXPECT_EQ(t_.host_memory->free(t_.self, pinned), OUTBACK_OK);
  EXPECT_EQ(fake_driver().cuDevicePrimaryCtxRelease(2), CUDA_SUCCESS);
}

TEST_F(CudaContextTest, WorkMakesOneOnItsDeviceOnly) {
  void* ptr = nullptr;
  EXPECT_EQ(t_.mem_alloc(t_.self, 1, 64, &ptr), OUTBACK_OK);
  EXPECT_TRUE(fake().context_active(1));
  EXPECT_FALSE(fake().context_active(0));
  EXPECT_EQ(t_.mem_free(t_.self, 1, ptr), OUTBACK_OK);
}

TEST_F(CudaContextTest, InfoIsTheDevices) {
  outback_device_info infos[2] = {};
  for (int32_t d : {0, 1}) {
    infos[d].struct_size = sizeof(infos[d]);
    ASSERT_EQ(t_.device_info(t_.self, d, &infos[d]), OUTBACK_OK);
    EXPECT_EQ(infos[d].kernels_of, 2);
    EXPECT_EQ(infos[d].flags, 0u);
    EXPECT_EQ(infos[d].subgroup_size, 32u);
    EXPECT_EQ(infos[d].alignment, 256u);
    EXPECT_GE(infos[d].capability_major, 1);
    EXPECT_EQ(std::strlen(infos[d].pci_id), std::strlen("dddd:bb:dd.f")) << infos[d].pci_id;
  }
  EXPECT_NE(std::memcmp(infos[0].uuid, infos[1].uuid, 16), 0);
  EXPECT_STRNE(infos[0].pci_id, infos[1].pci_id);
}

}  // namespace
}  // namespace outback::cuda
