// The parts of torch.<name>.memory, which is what torch.cuda.memory is to CUDA; each has a file of
// its own. Internal to module/; with the GIL held. The allocator is core's (core/memory/).
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <pybind11/pybind11.h>

#include <string>

#include "backend_template/core/memory/allocator/statistics.h"

namespace outback::python {

/// Returns the counters of the device's allocator, in blocks and bytes; all zero before the backend
/// was started. Starts nothing. Throws what device_argument throws.
core::device_stats stats_of(pybind11::handle device);

/// Reads the `id` of a MemPool, a pair of integers. Throws pybind11::cast_error for anything else.
c10::MempoolId_t pool_id_argument(pybind11::handle id);

/// Returns a snapshot in torch.cuda's form, of one pool or, for {0, 0}, of everything: the segments
/// of all devices and, `with_traces`, the events that were recorded. Starts nothing. Releases the
/// GIL while it takes the allocator's locks.
pybind11::dict take_snapshot(c10::MempoolId_t pool, bool with_traces);

// The parts of the module `torch.<name>.memory` in C++; the others are in _outback/memory.py.
void define_memory_counters(pybind11::module_& memory);
void define_memory_limits(pybind11::module_& memory);
void define_raw_memory(pybind11::module_& memory);
void define_memory_pools(pybind11::module_& memory);
void define_memory_history(pybind11::module_& memory);
void define_memory_snapshots(pybind11::module_& memory);

}  // namespace outback::python
