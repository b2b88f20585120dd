// Addresses that stand for device memory and have no memory behind them. With
// host_options::protected_memory they are what mem_alloc returns, so that a CPU access to memory
// apart faults and says where, instead of working by accident.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outback::host {

/// Hands out ranges of addresses at which every access faults. No address is handed out twice, so
/// an address also faults after it was freed.
///
/// The first object of the process installs a handler for SIGSEGV. For a fault inside these ranges
/// the handler first writes one line to stderr. For every fault it then restores the handler that
/// was there before, which deals with this fault and with all later ones. May be used from any
/// thread.
class protected_addresses {
 public:
  /// Reserves 128 GiB of addresses. Throws outback::out_of_memory if the system refuses them, or if
  /// the process has four such objects already.
  protected_addresses();
  /// Gives the addresses back. The handler stays installed.
  ~protected_addresses();
  protected_addresses(const protected_addresses&) = delete;
  protected_addresses& operator=(const protected_addresses&) = delete;

  /// Returns the beginning of a range of `size` bytes, aligned to a page; an unused page follows
  /// it. Throws outback::out_of_memory for more than half of the 128 GiB, and when all addresses
  /// have been used. Waits for nothing.
  void* reserve(std::size_t size);

 private:
  const uintptr_t begin_;
  std::atomic<uintptr_t> next_;
};

}  // namespace outback::host
