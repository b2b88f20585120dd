#include "backend_template/runtimes/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "backend_template/runtimes/pages.hpp"
#include "outback/runtime_error.hpp"

namespace outback {
namespace {

// Nobody can change the size of the file (a mapped page that vanishes is a SIGBUS for its reader),
// and nobody can add further seals.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// What outback_ipc_handle::bytes holds.
struct message {
  std::array<char, 8> magic;
  uint32_t kind;
  int32_t process;
  int32_t fd;  // the descriptor's number in that process
  uint32_t reserved;
  uint64_t size;
  shared_file::identity id;
};
static_assert(sizeof(message) <= sizeof(outback_ipc_handle::bytes));
constexpr std::array<char, 8> magic = {'o', 'u', 't', 'b', 'a', 'c', 'k', 1};

[[noreturn]] void fail_with_errno(const std::string& what) {
  const int error = errno;
  const std::string text = what + ": " + std::strerror(error);
  if (error == ENOMEM || error == ENOSPC) throw out_of_memory(text);
  throw runtime_error(OUTBACK_INTERNAL, text);
}

std::optional<shared_file::identity> regular_file(const struct stat& found) {
  if (!S_ISREG(found.st_mode)) return std::nullopt;
  return shared_file::identity{.device = found.st_dev, .inode = found.st_ino};
}

message read_message(shared_kind kind, const outback_ipc_handle& handle) {
  message told;
  if (handle.size != sizeof(told)) {
    throw invalid_argument("the handle has " + std::to_string(handle.size) +
                           " bytes; those of this runtime have " + std::to_string(sizeof(told)));
  }
  std::memcpy(&told, handle.bytes, sizeof(told));
  if (told.magic != magic) throw invalid_argument("the handle is none of this runtime's");
  if (told.kind != uint32_t(kind)) {
    throw invalid_argument(kind == shared_kind::memory ? "the handle is not one of memory"
                                                       : "the handle is not one of an event");
  }
  return told;
}

// Returns a descriptor of our own for a file of another process. It asks stat first and opens only
// what is the right file: the handle comes from outside, and opening some files has effects (a FIFO
// blocks, a device acts).
int open_in(const message& told) {
  const std::string path =
      "/proc/" + std::to_string(told.process) + "/fd/" + std::to_string(told.fd);
  struct stat found = {};
  if (told.process <= 0 || told.fd < 0 || stat(path.c_str(), &found) != 0 ||
      regular_file(found) != told.id) {
    throw invalid_argument("the handle has no descriptor, and process " +
                           std::to_string(told.process) +
                           " does not show the file: it has freed what it shared, is gone, or is "
                           "another user's");
  }
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

// The handle and its descriptor come from another process, so nothing about them is believed: not
// the file, not its size, and not that it is sealed and writable.
bool is_the_file(int fd, const message& told) {
  struct stat found = {};
  return fstat(fd, &found) == 0 && regular_file(found) == told.id && told.size > 0 &&
         told.size <= uint64_t(found.st_size) &&
         uint64_t(found.st_size) - told.size < page_size() &&
         (fcntl(fd, F_GET_SEALS) & seals) == seals && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

}  // namespace

shared_file::shared_file(shared_kind kind, std::size_t size)
    : kind_(kind), size_(size), fd_(memfd_create("outback", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  struct stat made = {};
  if (fd_ < 0 || ftruncate(fd_, off_t(whole_pages(size))) != 0 ||
      fcntl(fd_, F_ADD_SEALS, seals) != 0 || fstat(fd_, &made) != 0) {
    // close() may change errno.
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    errno = error;
    fail_with_errno("memory of " + std::to_string(size) + " bytes to share");
  }
  id_ = {.device = made.st_dev, .inode = made.st_ino};
}

shared_file::shared_file(shared_kind kind, const outback_ipc_handle& handle) : kind_(kind) {
  const message told = read_message(kind, handle);
  // A duplicate, because the caller closes its descriptor.
  fd_ = handle.fd == -1 ? open_in(told) : fcntl(handle.fd, F_DUPFD_CLOEXEC, 0);
  if (fd_ < 0 && (errno == EMFILE || errno == ENFILE)) {
    fail_with_errno("a descriptor for what another process shares");
  }
  if (!is_the_file(fd_, told)) {
    if (fd_ >= 0) close(fd_);
    throw invalid_argument(
        "the handle's descriptor, " + std::to_string(handle.fd) +
        ", is not the file that it tells of: a descriptor has to travel by SCM_RIGHTS or "
        "pidfd_getfd, or be -1 here");
  }
  size_ = std::size_t(told.size);
  id_ = told.id;
}

shared_file::~shared_file() {
  if (fd_ >= 0) close(fd_);
}

shared_file::shared_file(shared_file&& other) noexcept
    : kind_(other.kind_), size_(other.size_), id_(other.id_), fd_(std::exchange(other.fd_, -1)) {}

outback_ipc_handle shared_file::handle(std::size_t size) const {
  outback_ipc_handle made = {};
  made.struct_size = sizeof(made);
  made.fd = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (made.fd < 0) fail_with_errno("a descriptor for the handle");
  const message told = {.magic = magic,
                        .kind = uint32_t(kind_),
                        .process = getpid(),
                        .fd = fd_,
                        .reserved = 0,
                        .size = size,
                        .id = id_};
  made.size = sizeof(told);
  std::memcpy(made.bytes, &told, sizeof(told));
  return made;
}

void* shared_file::map(void* at) const {
  void* const mapped = mmap(at, whole_pages(size_), PROT_READ | PROT_WRITE,
                            MAP_SHARED | (at == nullptr ? 0 : MAP_FIXED), fd_, 0);
  if (mapped == MAP_FAILED) fail_with_errno("addresses for shared memory");
  return mapped;
}

}  // namespace outback
