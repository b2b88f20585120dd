#include "backend_template/runtimes/host/protected_addresses.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "backend_template/runtimes/host/host.h"
#include "backend_template/runtimes/pages.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

// In bytes of address space, which needs no memory.
constexpr std::size_t arena_size = std::size_t{128} << 30;

// The signal handler reads these. It may run in any thread at any time, so they are atomics, and no
// lock is taken.
std::atomic<uintptr_t> arena{0};  // where it begins; 0: not reserved yet
std::atomic<const char* (*)()> describe_caller{nullptr};
struct sigaction handler_before;

bool is_protected(uintptr_t address) {
  const uintptr_t begin = arena.load(std::memory_order_acquire);
  return begin != 0 && address >= begin && address - begin < arena_size;
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

void reserve_arena() {
  void* const begin =
      mmap(nullptr, arena_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    throw out_of_memory(
        "protected memory needs 128 GiB of addresses (no memory): raise the limit of ulimit -v, or "
        "unset OUTBACK_HOST_PROTECTED");
  }
  arena.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_release);
  install_handler();
}

}  // namespace

void prepare_protected_addresses() {
  [[maybe_unused]] static const bool is_there = (reserve_arena(), true);
}

void* protected_addresses(std::size_t size) {
  static std::atomic<std::size_t> used{0};
  if (size > arena_size / 2) {
    throw out_of_memory("no protected device has " + std::to_string(size) + " bytes");
  }
  // With a page more than needed, the end of one range is not the beginning of the next.
  const std::size_t bytes = (size / page_size() + 2) * page_size();
  const std::size_t offset = used.fetch_add(bytes);
  if (offset > arena_size - bytes)
    throw out_of_memory("all protected addresses have been used once");
  return reinterpret_cast<void*>(arena.load(std::memory_order_relaxed) + offset);
}

}  // namespace outback::host

extern "C" void outback_host_runtime_describe_caller(const char* (*describe)(void)) {
  outback::host::describe_caller.store(describe, std::memory_order_release);
}
