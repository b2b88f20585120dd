// Addresses that stand for device memory but have no memory behind them. With
// host_options::protected_memory, mem_alloc returns such addresses, so that a CPU access to device
// memory faults and reports the place, instead of working by accident.
#pragma once

#include <cstddef>

namespace outback::host {

/// Reserves 128 GiB of addresses in the process, where every access faults, and installs a handler
/// for SIGSEGV; later calls do nothing. For a fault at one of these addresses the handler first
/// writes one line to stderr. For every fault the handler then restores the previous handler, which
/// handles this fault and all later faults. Throws outback::out_of_memory if the system refuses the
/// addresses. May be called from any thread.
void prepare_protected_addresses();

/// Returns the beginning of a range of `size` bytes of these addresses, aligned to a page; an
/// unused page follows the range. Returns no address twice, so an address still faults after it was
/// freed. Throws outback::out_of_memory for more than half of the 128 GiB, and when all addresses
/// have been used. Never waits. `prepare_protected_addresses` must have returned before.
void* protected_addresses(std::size_t size);

}  // namespace outback::host
