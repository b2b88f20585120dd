#include "backend_template/runtimes/host/protected_addresses.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "backend_template/runtimes/host/host.h"
#include "backend_template/runtimes/pages.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

// In bytes of address space, which needs no memory. ThreadSanitizer leaves a program about 1 TiB of
// addresses, so four times 128 GiB fit.
constexpr std::size_t arena_size = std::size_t{128} << 30;
constexpr std::size_t max_arenas = 4;

// The signal handler reads these. It may run in any thread at any time, so they are atomics, and no
// lock is taken.
std::array<std::atomic<uintptr_t>, max_arenas> arenas;  // where each begins; 0: unused
std::atomic<const char* (*)()> describe_caller{nullptr};
struct sigaction handler_before;

bool is_protected(uintptr_t address) {
  for (const auto& arena : arenas) {
    const uintptr_t begin = arena.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin && address - begin < arena_size) return true;
  }
  return false;
}

void write_text(const char* text) {
  // There is nobody to report a failure of this write to.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void on_fault(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  const bool is_fault = info->si_code > 0;  // else a process sent the signal
  if (is_fault && is_protected(reinterpret_cast<uintptr_t>(info->si_addr))) {
    const auto describe = describe_caller.load(std::memory_order_acquire);
    const char* const caller = describe == nullptr ? nullptr : describe();
    write_text("outback: the CPU touched device memory that it cannot address, in ");
    write_text(caller == nullptr ? "an unknown operator" : caller);
    write_text("\n");
  }
  // When this handler returns, the faulting access runs again and meets the handler from before. A
  // signal that somebody sent does not come again by itself, so it is raised again.
  sigaction(SIGSEGV, &handler_before, nullptr);
  if (!is_fault) raise(SIGSEGV);
  errno = error;
}

void install_handler() {
  struct sigaction ours = {};
  ours.sa_sigaction = &on_fault;
  // On the alternative stack, where the thread has one: the fault may be a stack overflow.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, &handler_before);
}

uintptr_t new_arena() {
  void* const begin =
      mmap(nullptr, arena_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    throw out_of_memory(
        "protected memory needs 128 GiB of addresses (no memory): raise the limit of ulimit -v, or "
        "unset OUTBACK_HOST_PROTECTED");
  }
  for (auto& arena : arenas) {
    uintptr_t none = 0;
    if (arena.compare_exchange_strong(none, reinterpret_cast<uintptr_t>(begin))) {
      return reinterpret_cast<uintptr_t>(begin);
    }
  }
  munmap(begin, arena_size);
  throw out_of_memory("a process has at most " + std::to_string(max_arenas) +
                      " host runtimes with protected memory");
}

}  // namespace

protected_addresses::protected_addresses() : begin_(new_arena()), next_(begin_) {
  static const bool installed = (install_handler(), true);
  static_cast<void>(installed);
}

protected_addresses::~protected_addresses() {
  for (auto& arena : arenas) {
    uintptr_t ours = begin_;
    arena.compare_exchange_strong(ours, 0);
  }
  munmap(reinterpret_cast<void*>(begin_), arena_size);
}

void* protected_addresses::reserve(std::size_t size) {
  if (size > arena_size / 2) {
    throw out_of_memory("no protected device has " + std::to_string(size) + " bytes");
  }
  // With a page more than needed, the end of one range is not the beginning of the next.
  const std::size_t bytes = (size / page_size() + 2) * page_size();
  const uintptr_t begin = next_.fetch_add(bytes);
  if (begin - begin_ > arena_size - bytes) {
    throw out_of_memory("all protected addresses have been used once");
  }
  return reinterpret_cast<void*>(begin);
}

}  // namespace outback::host

extern "C" void outback_host_runtime_describe_caller(const char* (*describe)(void)) {
  outback::host::describe_caller.store(describe, std::memory_order_release);
}
