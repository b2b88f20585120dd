#include "backend_template/core/runtime/descriptor.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace outback::core {
namespace {

// The numbers of two system calls, the same on every architecture. The headers of older systems
// have no names for them.
constexpr long pidfd_open_call = 434;
constexpr long pidfd_getfd_call = 438;

bool is_the_file(const struct stat& found, const descriptor_place& place) noexcept {
  return found.st_dev == place.device && found.st_ino == place.inode;
}

bool is_the_file(const descriptor& file, const descriptor_place& place) noexcept {
  struct stat found = {};
  return file.get() >= 0 && fstat(file.get(), &found) == 0 && is_the_file(found, place);
}

// Works for any kind of file, but only where this process may trace the other one. Returns none if
// the system refuses.
descriptor duplicate_from(const descriptor_place& place) noexcept {
  const descriptor process(static_cast<int>(syscall(pidfd_open_call, place.process, 0)));
  if (process.get() < 0) return {};
  return descriptor(static_cast<int>(syscall(pidfd_getfd_call, process.get(), place.fd, 0)));
}

// Works for files in memory and on disk, and where this process may look at the other one without
// tracing it. It compares the file before it opens it, since opening can have effects (a FIFO, a
// device), and the number may stand for another file by now.
descriptor open_from(const descriptor_place& place) {
  const std::string path =
      "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.fd);
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0 || !is_the_file(found, place)) return {};
  return descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
}

}  // namespace

descriptor::~descriptor() {
  if (fd_ >= 0) close(fd_);
}

descriptor_place place_of(int fd) {
  struct stat found = {};
  TORCH_CHECK(fstat(fd, &found) == 0, "descriptor ", fd, ": ", std::strerror(errno));
  return {getpid(), fd, found.st_dev, found.st_ino};
}

descriptor take_from(const descriptor_place& place) {
  descriptor taken = duplicate_from(place);
  // The comparison after each step finds a number, or a process id, that the system gave anew.
  if (!is_the_file(taken, place)) taken = open_from(place);
  if (is_the_file(taken, place)) return taken;
  TORCH_CHECK_VALUE(false, "process ", place.process, " does not show its descriptor ", place.fd,
                    ": it has ended or given up what it shared, or this process may not look into "
                    "it (both have to be one user's, in one container)");
}

}  // namespace outback::core
