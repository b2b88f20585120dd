// The methods that a backend adds to PyTorch's classes, as the C descriptors that PyTorch's own
// are.
#pragma once

#include <string>

namespace outback::python {

/// Adds `Tensor.<name>(device=None, non_blocking=False, **kwargs)` and `Tensor.is_<name>`. Once.
void add_tensor_methods(const std::string& name);

/// Adds `Module.<name>(device=None)`, which calls `Tensor.<name>`. Once.
void add_module_methods(const std::string& name);

}  // namespace outback::python
