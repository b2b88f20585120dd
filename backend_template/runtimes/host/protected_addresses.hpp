// Addresses that stand for device memory and hold none: the CPU that touches one is told so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outback::host {

/// Hands out ranges of addresses at which every access faults. No address is handed out twice, so
/// one that was freed goes on faulting.
///
/// The first object installs a handler for SIGSEGV, which writes one line about a fault inside
/// these ranges to stderr and then leaves it, like every other fault, to the handler that was there
/// before. May be used from any thread.
class protected_addresses {
 public:
  /// Throws outback::out_of_memory when the system has no such range, or a process has too many.
  protected_addresses();
  ~protected_addresses();
  protected_addresses(const protected_addresses&) = delete;
  protected_addresses& operator=(const protected_addresses&) = delete;

  /// A range of `size` bytes, aligned to a page. Throws outback::out_of_memory when all are used
  /// up.
  void* reserve(std::size_t size);

 private:
  const uintptr_t begin_;
  std::atomic<uintptr_t> next_;
};

}  // namespace outback::host
