// Memory and events of two processes. Each test is of one that shares, and one that opens.
#include <array>

#include "tests/fakes/cudart/child.hpp"
#include "tests/fakes/cudart/fake_test.hpp"

namespace fake_cuda {
namespace {

// Bytes from one process to the other, and back.
class line {
 public:
  line() { EXPECT_EQ(pipe(ends_.data()) + pipe(ends_.data() + 2), 0); }
  ~line() {
    for (const int each : ends_) close(each);
  }
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  template <class T>
  void send(const T& value, bool back = false) {
    EXPECT_EQ(write(ends_[back ? 3 : 1], &value, sizeof(value)), ssize_t(sizeof(value)));
  }
  template <class T>
  T receive(bool back = false) {
    T value = {};
    EXPECT_EQ(read(ends_[back ? 2 : 0], &value, sizeof(value)), ssize_t(sizeof(value)));
    return value;
  }

 private:
  std::array<int, 4> ends_;
};

// Runs both, each in a process that has not called the library before.
void two_processes(const std::function<void(line&)>& owner,
                   const std::function<void(line&)>& guest) {
  line between;
  const pid_t first = fork();
  if (first == 0) {
    alarm(200);
    owner(between);
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  expect_well(in_child({{"FAKE_CUDART_LEAKS", "1"}}, [&] { guest(between); }));
  int status = 0;
  EXPECT_EQ(waitpid(first, &status, 0), first);
  EXPECT_EQ(status, 0);
}

constexpr std::size_t size = 10000;

TEST(Ipc, MemoryIsSeenByBoth) {
  two_processes(
      [](line& to) {
        void *before = nullptr, *data = nullptr;
        EXPECT_CUDA(cudaMalloc(&before, 700));  // so that it begins within a page
        EXPECT_CUDA(cudaMalloc(&data, size));
        EXPECT_CUDA(cudaMemset(data, 1, size));
        cudaIpcMemHandle_t handle;
        EXPECT_CUDA(cudaIpcGetMemHandle(&handle, data));
        EXPECT_EQ(cudaIpcGetMemHandle(&handle, static_cast<char*>(data) + 512),
                  cudaErrorInvalidValue);
        void* own = nullptr;
        EXPECT_EQ(cudaIpcOpenMemHandle(&own, handle, cudaIpcMemLazyEnablePeerAccess),
                  cudaErrorDeviceUninitialized);
        to.send(handle);
        to.receive<char>(true);
        unsigned char last = 0;
        EXPECT_CUDA(cudaMemcpy(&last, static_cast<char*>(data) + size - 1, 1, cudaMemcpyDefault));
        EXPECT_EQ(last, 2);
        EXPECT_CUDA(cudaFree(data));
        EXPECT_CUDA(cudaFree(before));
      },
      [](line& from) {
        const auto handle = from.receive<cudaIpcMemHandle_t>();
        void *data = nullptr, *again = nullptr;
        EXPECT_EQ(cudaIpcOpenMemHandle(&data, handle, 0), cudaErrorInvalidValue);
        EXPECT_CUDA(cudaIpcOpenMemHandle(&data, handle, cudaIpcMemLazyEnablePeerAccess));
        EXPECT_CUDA(cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess));
        EXPECT_EQ(data, again);
        EXPECT_CUDA(cudaIpcCloseMemHandle(again));
        cudaPointerAttributes found = {};
        EXPECT_CUDA(cudaPointerGetAttributes(&found, static_cast<char*>(data) + size - 1));
        EXPECT_EQ(found.type, cudaMemoryTypeDevice);
        std::vector<unsigned char> seen(size);
        EXPECT_CUDA(cudaMemcpy(seen.data(), data, size, cudaMemcpyDefault));
        EXPECT_EQ(seen, std::vector<unsigned char>(size, 1));
        EXPECT_CUDA(cudaMemset(data, 2, size));
        EXPECT_EQ(cudaMemset(data, 2, size + 1), cudaErrorInvalidValue);
        EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
        EXPECT_CUDA(cudaIpcCloseMemHandle(data));
        EXPECT_EQ(cudaIpcCloseMemHandle(data), cudaErrorInvalidValue);
        EXPECT_EQ(fake_cudart_violations(), 3);
        EXPECT_EQ(fake_cudart_live(nullptr), 0);
        from.send('x', true);
        std::_Exit(::testing::Test::HasFailure());  // the misuses were meant
      });
}

TEST(Ipc, AnEventIsSeenByBoth) {
  two_processes(
      [](line& to) {
        cudaStream_t s = nullptr;
        cudaEvent_t plain = nullptr, e = nullptr;
        EXPECT_CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        EXPECT_CUDA(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
        EXPECT_CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventInterprocess));
        cudaIpcEventHandle_t handle;
        EXPECT_EQ(cudaIpcGetEventHandle(&handle, plain), cudaErrorInvalidResourceHandle);
        EXPECT_CUDA(cudaIpcGetEventHandle(&handle, e));
        cudaEvent_t own = nullptr;
        EXPECT_EQ(cudaIpcOpenEventHandle(&own, handle), cudaErrorDeviceUninitialized);
        {
          gate closed(s);
          EXPECT_CUDA(cudaEventRecord(e, s));
          EXPECT_EQ(cudaEventQuery(e), cudaErrorNotReady);
          to.send(handle);
          to.receive<char>(true);  // it waits
          closed.open();
          EXPECT_CUDA(cudaStreamSynchronize(s));
        }
        EXPECT_CUDA(cudaEventQuery(e));
        to.receive<char>(true);
        EXPECT_CUDA(cudaEventDestroy(plain));
        EXPECT_CUDA(cudaEventDestroy(e));
        EXPECT_CUDA(cudaStreamDestroy(s));
      },
      [](line& from) {
        const auto handle = from.receive<cudaIpcEventHandle_t>();
        cudaStream_t s = nullptr;
        cudaEvent_t e = nullptr;
        EXPECT_CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        EXPECT_CUDA(cudaIpcOpenEventHandle(&e, handle));
        EXPECT_EQ(cudaEventQuery(e), cudaErrorNotReady);
        EXPECT_CUDA(cudaStreamWaitEvent(s, e, 0));
        EXPECT_EQ(cudaStreamQuery(s), cudaErrorNotReady);
        from.send('x', true);
        EXPECT_CUDA(cudaStreamSynchronize(s));
        EXPECT_CUDA(cudaEventSynchronize(e));
        from.send('x', true);
        EXPECT_CUDA(cudaEventDestroy(e));
        EXPECT_CUDA(cudaStreamDestroy(s));
      });
}

TEST(Ipc, WhatIsNoHandleIsRefused) {
  expect_well(in_child({}, [] {
    void* none = nullptr;
    cudaEvent_t no_event = nullptr;
    EXPECT_EQ(cudaIpcOpenMemHandle(&none, {}, cudaIpcMemLazyEnablePeerAccess),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaIpcOpenEventHandle(&no_event, {}), cudaErrorInvalidValue);
  }));
}

TEST(Ipc, MemoryOfAProcessThatIsGoneCannotBeOpened) {
  line between;
  expect_well(in_child({}, [&] {
    void* data = nullptr;
    cudaIpcMemHandle_t handle;
    EXPECT_CUDA(cudaMalloc(&data, size));
    EXPECT_CUDA(cudaIpcGetMemHandle(&handle, data));
    between.send(handle);
  }));
  expect_well(in_child({}, [&] {
    void* data = nullptr;
    EXPECT_EQ(cudaIpcOpenMemHandle(&data, between.receive<cudaIpcMemHandle_t>(),
                                   cudaIpcMemLazyEnablePeerAccess),
              cudaErrorMapBufferObjectFailed);
  }));
}

}  // namespace
}  // namespace fake_cuda
