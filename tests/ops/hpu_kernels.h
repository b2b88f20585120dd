// Kernels of HPU (tests/twin/hpu.h): the CPU's, under HPU's keys. They take nothing but HPU's
// tensors, and what they make is in memory of HPU's allocator.
#pragma once

#include <c10/core/DispatchKey.h>

#include <string_view>
#include <vector>

namespace outback::test {

/// Registers a kernel for each operator of ATen and each layout that the CPU has one for, except
/// for the operators named, "aten::mm" say, and a copy_. After `register_hpu`, before the backend
/// starts.
void register_hpu_kernels(const std::vector<std::string_view>& except = {});

/// Registers such a kernel for one operator, "aten::_foreach_add" and "Scalar", which runs what the
/// CPU runs for it.
void register_hpu_kernel(const char* name, const char* overload);

/// How many kernels have run.
int hpu_kernels_run();

}  // namespace outback::test
