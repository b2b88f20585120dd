// torch.<name>.memory: what torch.cuda.memory is to CUDA, a file a part.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <pybind11/pybind11.h>

#include <string>

#include "backend_template/core/memory/allocator/statistics.h"

namespace outback::python {

/// What the device's allocator counted; zeros before the backend was started, which asking does
/// not do.
core::device_stats stats_of(pybind11::handle device);

/// The ids in a MemPool's `id`: a pair of integers.
c10::MempoolId_t pool_id_argument(pybind11::handle id);

/// torch.cuda's snapshot, of one pool or, for {0, 0}, of everything. Starts nothing.
pybind11::dict take_snapshot(c10::MempoolId_t pool, bool with_traces);

// The parts of the module `torch.<name>.memory`.
void define_memory_counters(pybind11::module_& memory, const std::string& qualified_name);
void define_memory_summary(pybind11::module_& memory);
void define_memory_limits(pybind11::module_& memory);
void define_raw_memory(pybind11::module_& memory);
void define_memory_pools(pybind11::module_& memory);
void define_memory_history(pybind11::module_& memory);
void define_memory_snapshots(pybind11::module_& memory);

}  // namespace outback::python
