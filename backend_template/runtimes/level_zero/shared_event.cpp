#include "backend_template/runtimes/level_zero/shared_event.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

// So many recordings may be under way at once. A recording whose place is still taken waits for the
// one that has it. That one was recorded before, so such waits form no circle.
constexpr std::size_t recordings_under_way = 256;

// Sealed, so that no process can shrink the file: reading a mapped page that is gone is a SIGBUS.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// The first bytes of a handle of an event; shared_memory.cpp has another text.
constexpr char event_handle_kind[8] = {'o', 'b', 'z', 'e', 'e', 'v', 't', '1'};

// False for a file that cannot be sealed, too: then the answer is -1.
bool sealed(int fd) {
  const int has = fcntl(fd, F_GET_SEALS);
  return has >= 0 && (has & seals) == seals;
}

[[noreturn]] void throw_system_error(const char* what) {
  throw runtime_error(OUTBACK_INTERNAL, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

struct shared_event::state {
  std::atomic<uint64_t> last;     // number of the last recording; 0: none yet
  std::atomic<uint32_t> changes;  // counts the writes to `done`; the futex
  // Recording n is done if element n % 256 is at least n.
  std::array<std::atomic<uint64_t>, recordings_under_way> done;
};

shared_event::state* shared_event::map(int fd) {
  // Only lock-free atomics work between processes.
  static_assert(std::atomic<uint64_t>::is_always_lock_free &&
                std::atomic<uint32_t>::is_always_lock_free);
  void* const there = mmap(nullptr, sizeof(state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (there == MAP_FAILED) {
    // close() may change errno.
    const int why = errno;
    close(fd);
    errno = why;
    throw_system_error("memory for an event of several processes");
  }
  return static_cast<state*>(there);
}

shared_event::shared_event(int fd) : fd_(fd), state_(map(fd)) {}

shared_event::~shared_event() {
  munmap(state_, sizeof(state));
  close(fd_);
}

std::shared_ptr<shared_event> shared_event::make() {
  const int fd = memfd_create("outback event", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) throw_system_error("memfd_create for an event of several processes");
  if (ftruncate(fd, sizeof(state)) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0) {
    const int why = errno;
    close(fd);
    errno = why;
    throw_system_error("memory for an event of several processes");
  }
  return std::shared_ptr<shared_event>(new shared_event(fd));
}

std::shared_ptr<shared_event> shared_event::open(const outback_ipc_handle& handle) {
  struct stat file = {};
  // The handle and its descriptor come from another process, so nothing is mapped before it was
  // looked at.
  const bool is_event = handle.size == sizeof(event_handle_kind) &&
                        std::memcmp(handle.bytes, event_handle_kind, handle.size) == 0;
  if (!is_event || handle.fd < 0 || fstat(handle.fd, &file) != 0 ||
      std::size_t(file.st_size) != sizeof(state) || !sealed(handle.fd) ||
      (fcntl(handle.fd, F_GETFL) & O_ACCMODE) != O_RDWR) {
    throw invalid_argument(
        "the handle is not of an event of this runtime, or its descriptor did not come with it");
  }
  const int fd = fcntl(handle.fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw_system_error("a descriptor for an event of another process");
  return std::shared_ptr<shared_event>(new shared_event(fd));
}

outback_ipc_handle shared_event::handle() const {
  outback_ipc_handle made = {};
  made.struct_size = sizeof(made);
  made.size = sizeof(event_handle_kind);
  std::memcpy(made.bytes, event_handle_kind, sizeof(event_handle_kind));
  made.fd = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (made.fd < 0) throw_system_error("a descriptor for an event of several processes");
  return made;
}

uint64_t shared_event::begin() noexcept {
  return state_->last.fetch_add(1) + 1;
}

uint64_t shared_event::last() const noexcept {
  return state_->last.load();
}

bool shared_event::done(uint64_t recording) const noexcept {
  return state_->done[recording % recordings_under_way].load(std::memory_order_acquire) >=
         recording;
}

void shared_event::wait(uint64_t recording) const noexcept {
  for (;;) {
    // Read before `done` is asked: a completion in between changes the value, and FUTEX_WAIT
    // returns at once.
    const uint32_t before = state_->changes.load();
    if (done(recording)) return;
    syscall(SYS_futex, &state_->changes, FUTEX_WAIT, before, nullptr, nullptr, 0);
  }
}

void shared_event::complete(uint64_t recording) const noexcept {
  // The place must be free, or a number that others wait for would be overwritten.
  if (recording > recordings_under_way) wait(recording - recordings_under_way);
  state_->done[recording % recordings_under_way].store(recording, std::memory_order_release);
  state_->changes.fetch_add(1);
  syscall(SYS_futex, &state_->changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace outback::level_zero
