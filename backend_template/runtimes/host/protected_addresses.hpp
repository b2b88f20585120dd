// Addresses that stand for device memory and have no memory behind them. With
// host_options::protected_memory they are what mem_alloc returns, so that a CPU access to memory
// apart faults and says where, instead of working by accident.
#pragma once

#include <cstddef>

namespace outback::host {

/// Reserves 128 GiB of addresses for the process at which every access faults, and installs a
/// handler for SIGSEGV; later calls do nothing. For a fault at one of these addresses the handler
/// first writes one line to stderr. For every fault it then restores the handler that was there
/// before, which deals with this fault and with all later ones. Throws outback::out_of_memory if
/// the system refuses the addresses. May be called from any thread.
void prepare_protected_addresses();

/// Returns the beginning of a range of `size` bytes of them, aligned to a page; an unused page
/// follows it. No address is handed out twice, so an address also faults after it was freed. Throws
/// outback::out_of_memory for more than half of the 128 GiB, and when all addresses have been used.
/// Waits for nothing. `prepare_protected_addresses` must have returned.
void* protected_addresses(std::size_t size);

}  // namespace outback::host
