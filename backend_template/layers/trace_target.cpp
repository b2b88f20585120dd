#include "backend_template/layers/trace_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "outback/detail/variables.hpp"

namespace outback::layers {
namespace {

// The number of the descriptor that `path` names. Opening /dev/fd/1 would open the file behind it
// anew, at its beginning, and fail for a socket.
std::optional<int> own_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const auto number = outback::detail::number_in(path.substr(folder.size()));
    if (number && *number <= uint64_t{std::numeric_limits<int>::max()}) return int(*number);
  }
  return std::nullopt;
}

// Explains the two failures whose own text would not help: ELOOP for a link, ENXIO for a pipe.
std::string why_not_opened(const std::string& path, int error) {
  struct stat there = {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (S_ISLNK(there.st_mode)) {
      return "it is a symbolic link, which a trace does not follow: name the file itself";
    }
    if (S_ISFIFO(there.st_mode) && error == ENXIO) {
      return "it is a pipe that nobody reads from: start the reader first";
    }
  }
  return std::strerror(error);
}

trace_target failed(std::string problem) {
  return {.problem = std::move(problem)};
}

// A file or a pipe of another user's: they would read the trace. Terminals and /dev/null are
// devices, which belong to whoever logged in or to root.
bool is_of_another_user(const struct stat& there) {
  const bool is_kept = S_ISREG(there.st_mode) || S_ISFIFO(there.st_mode);
  return is_kept && there.st_uid != ::geteuid();
}

// Makes an own file private and empty. A trace has the handles of shared memory in it.
bool make_ready(int fd) {
  return ::fchmod(fd, S_IRUSR | S_IWUSR) == 0 && ::ftruncate(fd, 0) == 0;
}

}  // namespace

trace_target open_trace_target(const std::string& path) {
  if (const std::optional<int> own = own_descriptor(path)) {
    const int fd = ::fcntl(*own, F_DUPFD_CLOEXEC, 0);
    return fd >= 0 ? trace_target{.fd = fd} : failed(std::strerror(errno));
  }
  // O_NONBLOCK, because opening a pipe would wait for its reader. No O_TRUNC: the file is emptied
  // only after fstat has said what it is. O_NOCTTY, so that a terminal does not become the
  // controlling one.
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
             S_IRUSR | S_IWUSR);
  if (fd < 0) return failed(why_not_opened(path, errno));
  struct stat there = {};
  std::string problem;
  if (::fstat(fd, &there) != 0) {
    problem = std::strerror(errno);
  } else if (is_of_another_user(there)) {
    problem = "it belongs to another user, who would read the trace: name a file of your own";
  } else if (S_ISREG(there.st_mode) && there.st_nlink > 1) {
    problem = "it is a file with several names (hard links), all of which would be emptied";
  } else if (S_ISREG(there.st_mode) && !make_ready(fd)) {
    problem = std::strerror(errno);
  } else if (::fcntl(fd, F_SETFL, 0) != 0) {  // O_NONBLOCK off again: writing may wait
    problem = std::strerror(errno);
  }
  if (!problem.empty()) {
    ::close(fd);
    return failed(problem);
  }
  return {.fd = fd, .is_file = S_ISREG(there.st_mode)};
}

}  // namespace outback::layers
