// Two processes: the child is forked before either has a driver. Descriptors go through a socket,
// as they must.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tests/fakes/level_zero/client.hpp"

namespace outback::software_ze {
namespace {

constexpr std::size_t size = 200000;

/// An IPC handle on its way: the first four bytes are a descriptor, which the socket carries.
template <class Handle>
void send(int socket, const Handle& handle) {
  int file = -1;
  std::memcpy(&file, handle.data, sizeof file);
  iovec bytes{const_cast<char*>(handle.data), sizeof handle.data};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  ASSERT_EQ(sendmsg(socket, &message, 0), static_cast<ssize_t>(sizeof handle.data));
}

template <class Handle>
Handle receive(int socket) {
  Handle handle{};
  iovec bytes{handle.data, sizeof handle.data};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  EXPECT_EQ(recvmsg(socket, &message, 0), static_cast<ssize_t>(sizeof handle.data));
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header) std::memcpy(handle.data, CMSG_DATA(header), sizeof(int));
  return handle;
}

class IpcTest : public testing::driver_test {
 protected:
  // Runs this very test in both: who has a context is told by `child`.
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    child = fork();
    ASSERT_GE(child, 0);
    driver_test::SetUp();
  }
  void TearDown() override {
    driver_test::TearDown();
    if (child == 0) _exit(HasFailure() ? 1 : 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }

  ze_event_pool_flags_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC;
  int sockets[2] = {-1, -1};
  pid_t child = -1;
};

// The child waits for the parent's event, reads the parent's memory, writes into it and signals the
// other event.
TEST_F(IpcTest, MemoryAndEventsAreSeenByBoth) {
  const auto list = immediate_list(0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  std::vector<std::byte> seen(size);
  if (child != 0) {
    auto* memory = device_memory(size);
    const auto pool = event_pool(2, flags);
    auto written = event(pool, 0), answered = event(pool, 1);
    ze_ipc_mem_handle_t handle{};
    ze_ipc_event_pool_handle_t pool_handle{};
    ASSERT_SUCCESS(ZE(zeMemGetIpcHandle)(context, memory + 5, &handle));
    ASSERT_SUCCESS(ZE(zeEventPoolGetIpcHandle)(pool, &pool_handle));
    send(sockets[0], handle);
    send(sockets[0], pool_handle);
    const char one = 1;
    EXPECT_SUCCESS(
        ZE(zeCommandListAppendMemoryFill)(list, memory, &one, 1, size, written, 0, nullptr));
    EXPECT_SUCCESS(ZE(zeEventHostSynchronize)(answered, testing::forever));
    EXPECT_SUCCESS(
        ZE(zeCommandListAppendMemoryCopy)(list, seen.data(), memory, size, nullptr, 0, nullptr));
    EXPECT_EQ(seen[0], std::byte{1});
    EXPECT_EQ(seen[size - 1], std::byte{2});
    EXPECT_SUCCESS(ZE(zeEventDestroy)(written));
    EXPECT_SUCCESS(ZE(zeEventDestroy)(answered));
    EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
    free_memory(memory);
  } else {
    const auto handle = receive<ze_ipc_mem_handle_t>(sockets[1]);
    const auto pool_handle = receive<ze_ipc_event_pool_handle_t>(sockets[1]);
    void* opened = nullptr;
    ze_event_pool_handle_t pool = nullptr;
    ASSERT_SUCCESS(ZE(zeMemOpenIpcHandle)(context, devices[0], handle, 0, &opened));
    ASSERT_SUCCESS(ZE(zeEventPoolOpenIpcHandle)(context, pool_handle, &pool));
    auto written = event(pool, 0), answered = event(pool, 1);
    auto* memory = static_cast<std::byte*>(opened);
    EXPECT_SUCCESS(
        ZE(zeCommandListAppendMemoryCopy)(list, seen.data(), memory, size, nullptr, 1, &written));
    EXPECT_EQ(seen[0], std::byte{1});
    EXPECT_EQ(seen[size - 1], std::byte{1});
    const char two = 2;
    EXPECT_SUCCESS(ZE(zeCommandListAppendMemoryFill)(list, memory + size - 1, &two, 1, 1, answered,
                                                     0, nullptr));
    EXPECT_EQ(CONTROL(outback_ze_live)("imported memory"), 1u);
    EXPECT_EQ(ZE(zeMemFree)(context, memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_violation("another process's: close it instead");
    EXPECT_SUCCESS(ZE(zeEventDestroy)(written));
    EXPECT_SUCCESS(ZE(zeEventDestroy)(answered));
    EXPECT_SUCCESS(ZE(zeEventPoolCloseIpcHandle)(pool));
    EXPECT_SUCCESS(ZE(zeMemCloseIpcHandle)(context, memory));
    EXPECT_EQ(CONTROL(outback_ze_live)("imported memory"), 0u);
  }
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
}

}  // namespace
}  // namespace outback::software_ze
