// What the tests of the fake CUDA runtime have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/cudart/cuda_api.hpp"
#include "tests/fakes/cudart/fake_cudart.h"

namespace fake_cuda {

#define EXPECT_CUDA(call) EXPECT_EQ(call, cudaSuccess)
#define ASSERT_CUDA(call) ASSERT_EQ(call, cudaSuccess)

/// Keeps a stream from going on, until it is opened.
class gate {
 public:
  explicit gate(cudaStream_t on) {
    // The host function owns what it waits for: it may still be at it when the gate is gone.
    const auto wait = [](void* given) {
      const std::unique_ptr<std::shared_future<void>> opened(
          static_cast<std::shared_future<void>*>(given));
      opened->wait();
    };
    EXPECT_CUDA(cudaLaunchHostFunc(on, wait, new std::shared_future(opened_)));
  }
  ~gate() { open(); }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  void open() {
    if (!is_open_) open_.set_value();
    is_open_ = true;
  }

 private:
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
  bool is_open_ = false;
};

/// A test that starts and ends on device 0, with nothing alive, no fault, and no misuse.
class FakeTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_CUDA(cudaSetDevice(0)); }
  void TearDown() override {
    fake_cudart_clear_faults();
    for (const int each : {0, 1}) {
      fake_cudart_revive(each);
      EXPECT_CUDA(cudaSetDevice(each));
      EXPECT_CUDA(cudaDeviceSynchronize());
    }
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_EQ(fake_cudart_report_leaks(), 0);
    EXPECT_EQ(fake_cudart_violations(), 0) << fake_cudart_violation(0);
    static_cast<void>(cudaGetLastError());
  }

  /// There was exactly one misuse, which says `text`; it is forgotten.
  static void expect_misuse(const char* text) {
    EXPECT_EQ(fake_cudart_violations(), 1);
    if (fake_cudart_violations() > 0) {
      EXPECT_NE(std::string(fake_cudart_violation(0)).find(text), std::string::npos)
          << fake_cudart_violation(0);
    }
    fake_cudart_forget_violations();
  }

  static cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t made = nullptr;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&made, flags));
    return made;
  }
  static cudaEvent_t new_event(unsigned flags = cudaEventDisableTiming) {
    cudaEvent_t made = nullptr;
    EXPECT_CUDA(cudaEventCreateWithFlags(&made, flags));
    return made;
  }
  static std::byte* new_memory(std::size_t size) {
    void* made = nullptr;
    EXPECT_CUDA(cudaMalloc(&made, size));
    return static_cast<std::byte*>(made);
  }
  static std::vector<std::byte> peek(const void* device_memory, std::size_t size) {
    std::vector<std::byte> read(size);
    EXPECT_EQ(fake_cudart_peek(read.data(), device_memory, size), 0);
    return read;
  }
  static std::vector<std::byte> all(std::size_t size, int value) {
    return std::vector<std::byte>(size, std::byte(value));
  }
};

}  // namespace fake_cuda
