// The parts of torch.<name>.memory, which is what torch.cuda.memory is to CUDA; each has a file of
// its own. Internal to module/; with the GIL held. The allocator is core's (core/memory/).
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <pybind11/pybind11.h>

namespace outback::python {

/// Returns what torch counts of something as torch.cuda's dict.
pybind11::dict dict_of(const c10::CachingAllocator::Stat& stat);

// Each adds to `memory` what users call, and to `native`, torch.<name>._outback._native, what the
// parts in Python call, _outback/memory.py and allocator.py.
void define_memory_counters(pybind11::module_& memory, pybind11::module_& native);
void define_memory_limits(pybind11::module_& memory, pybind11::module_& native);
void define_raw_memory(pybind11::module_& memory);
void define_memory_pools(pybind11::module_& native);
void define_memory_history(pybind11::module_& memory, pybind11::module_& native);
void define_memory_snapshots(pybind11::module_& memory, pybind11::module_& native);

}  // namespace outback::python
