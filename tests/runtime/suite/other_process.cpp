#include "tests/runtime/suite/other_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/suite/guard.hpp"
#include "tests/runtime/suite/options.hpp"

namespace outback::suite {
namespace {

constexpr std::string_view role_argument = "--outback-role";
// Of a role that has returned. 0 is what a runtime says that ends the process in the midst of it.
constexpr int role_done = 77;

std::map<std::string, role>& roles() {
  static std::map<std::string, role> all;
  return all;
}

void check_call(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

bool add_role(const char* name, role function) {
  return roles().emplace(name, function).second;
}

line::~line() {
  close(socket_);
}

void line::send_bytes(const void* bytes, std::size_t size, int fd) {
  iovec part = {const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  }
  check_call(sendmsg(socket_, &message, MSG_NOSIGNAL) == ssize_t(size), "the other process");
}

void line::receive_bytes(void* bytes, std::size_t size, int* fd) {
  pollfd waiting = {socket_, POLLIN, 0};
  const int ready = poll(&waiting, 1, int(std::chrono::milliseconds(patience()).count()));
  check_call(ready >= 0, "poll");
  if (ready == 0) {
    throw std::runtime_error("the other process was silent for " +
                             std::to_string(patience().count()) + " s");
  }
  iovec part = {bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) != ssize_t(size)) {
    throw std::runtime_error("the other process is gone, or said something else");
  }
  int came = -1;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr) {
    std::memcpy(&came, CMSG_DATA(header), sizeof(came));
  }
  if (fd != nullptr) {
    *fd = came;
  } else if (came >= 0) {
    close(came);
  }
}

other_process::other_process(const char* role_name) {
  int ends[2];
  check_call(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  line_.emplace(ends[0]);
  // To itself: that takes the close-on-exec away, in the new process only.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], ends[1]);
  std::string name = role_name, socket = std::to_string(ends[1]), first(role_argument);
  char program[] = "/proc/self/exe";
  std::vector<std::string> options;  // those that are not in the environment
  for (const auto& [format, path] : given_options().kernels) {
    options.push_back("--kernels=" + std::to_string(format) + ":" + path);
  }
  std::vector<char*> arguments = {program, first.data(), name.data(), socket.data()};
  for (std::string& each : options) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const int error = posix_spawn(&pid_, program, &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  errno = error;
  check_call(error == 0, "posix_spawn");
}

other_process::~other_process() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool other_process::succeeded() {
  int status = 0;
  check_call(waitpid(pid_, &status, 0) == pid_, "waitpid");
  pid_ = -1;
  if (WIFSIGNALED(status))
    std::fprintf(stderr, "the other process died of signal %d\n", WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    std::fprintf(stderr, "the other process ended with status 0 before its role did\n");
  return WIFEXITED(status) && WEXITSTATUS(status) == role_done;
}

std::optional<int> run_role(int argc, char** argv) {
  constexpr int options = 3;  // behind the role and the socket
  if (argc <= options || argv[1] != role_argument) return std::nullopt;
  if (const std::string problem = read_options(argc - options, argv + options); !problem.empty()) {
    return 1;
  }
  begin_guarded("another process, as " + std::string(argv[2]));
  const guard named(/*tells_progress=*/false);
  try {
    line from(std::stoi(argv[3]));
    roles().at(argv[2])(from);
    return role_done;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[2], error.what());
    return 1;
  }
}

}  // namespace outback::suite
