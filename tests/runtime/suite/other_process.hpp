// A second process of the suite's own program, for what two processes share.
//
// A test starts it with a role: a function of this program. It is not a fork, which no driver
// survives, but the program run anew, so it makes a runtime of its own.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <type_traits>

namespace outback::suite {

/// One end of a line between two processes. Whatever waits on it gives up when its `patience` is
/// over (options.hpp), and throws, as it does when the other end is gone.
class line {
 public:
  /// Owns `socket`.
  explicit line(int socket) : socket_(socket) {}
  ~line();
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  /// With a descriptor, the other end gets one of its own.
  template <class T>
  void send(const T& value, int fd = -1) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(&value, sizeof(value), fd);
  }
  /// Where `fd` is given it becomes the descriptor that came along, which is the caller's to close,
  /// or -1.
  template <class T>
  T receive(int* fd = nullptr) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    receive_bytes(&value, sizeof(value), fd);
    return value;
  }

 private:
  void send_bytes(const void* bytes, std::size_t size, int fd);
  void receive_bytes(void* bytes, std::size_t size, int* fd);

  int socket_;
};

using role = void (*)(line&);

class other_process {
 public:
  /// Runs the role of that name, one of `OUTBACK_ROLE`, in a process of its own.
  explicit other_process(const char* role_name);
  /// Ends it, if it has not ended.
  ~other_process();
  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;

  line& to() { return *line_; }
  pid_t pid() const { return pid_; }
  /// Waits until the role has returned; false if it threw or died, which it has told on stderr.
  bool succeeded();

 private:
  std::optional<line> line_;
  pid_t pid_ = -1;
};

/// Makes `role_function` known by that name. At namespace scope.
#define OUTBACK_ROLE(role_function)                             \
  [[maybe_unused]] const bool outback_role_##role_function##_ = \
      ::outback::suite::add_role(#role_function, &(role_function))
bool add_role(const char* name, role function);

/// For main(), first of all: if this process was started by `other_process`, runs its role and
/// answers the exit status.
std::optional<int> run_role(int argc, char** argv);

}  // namespace outback::suite
