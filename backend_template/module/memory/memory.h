// The parts of torch.<name>.memory, which is what torch.cuda.memory is to CUDA; each has a file of
// its own. Internal to module/; with the GIL held. The allocator is core's (core/memory/).
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <pybind11/pybind11.h>

#include "backend_template/python/function_scope.h"

namespace outback::python {

/// Returns what torch counts of something as torch.cuda's dict.
pybind11::dict dict_of(const c10::CachingAllocator::Stat& stat);

// Each adds to `memory` what users call, and to `native`, torch.<name>._outback._native, what the
// parts in Python call, _outback/memory.py and allocator.py.
void define_memory_counters(function_scope& memory, function_scope& native);
void define_memory_limits(function_scope& memory, function_scope& native);
void define_raw_memory(function_scope& memory);
void define_memory_pools(function_scope& native);
void define_memory_history(function_scope& memory, function_scope& native);
void define_memory_snapshots(function_scope& memory, function_scope& native);

}  // namespace outback::python
