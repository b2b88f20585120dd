// The parts of torch.<name>.memory, the counterpart of torch.cuda.memory. Each part has its own
// file. Internal to module/; call all functions with the GIL held. The allocator itself is in
// core/memory/.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <pybind11/pybind11.h>

#include "backend_template/python/function_scope.h"

namespace outback::python {

/// Returns a statistic as a dict with the keys of torch.cuda.
pybind11::dict dict_of(const c10::CachingAllocator::Stat& stat);

// Each adds the functions for users to `memory`, and the functions for the Python sources
// (_outback/memory.py and allocator.py) to `native`, which is torch.<name>._outback._native.
void define_memory_counters(function_scope& memory, function_scope& native);
void define_memory_limits(function_scope& memory, function_scope& native);
void define_raw_memory(function_scope& memory);
void define_memory_pools(function_scope& native);
void define_memory_history(function_scope& memory, function_scope& native);
void define_memory_snapshots(function_scope& memory, function_scope& native);

}  // namespace outback::python
