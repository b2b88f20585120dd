// Portable kernels of PyTorch's structured operators: PyTorch's own class checks the arguments and
// works out shapes, strides and dtypes, and a launch stands where the CPU's loop would run.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>

// Includes all of torch's operators, after the headers that they need and do not include.
#include <ATen/NativeFunctions.h>
#include <ATen/Operators.h>

#include "backend_template/portable/engine/elementwise.h"
#include "backend_template/portable/engine/operator.h"
#include "outback/kernels/structured.h"

namespace outback::portable {

/// `Meta`, a structured class that is a TensorIterator, with `which` as its loop. The operator's
/// arguments that are numbers become s, t and u.
template <class Meta, body& which>
struct loop_of : Meta {
  template <class... Arguments>
  void impl(const Arguments&... arguments) {
    numbers given;
    (given.take(arguments), ...);
    run_elementwise(*this, which, given);
  }
};

/// Registers `Kernel`, a structured class with `impl`, for the given variants of its operator:
/// functional, in place, out=.
template <class Kernel, class... Operators>
void add_structured(ops::registrar& to) {
  (add<Operators, &kernels::structured_kernel<Kernel, Operators>::run>(to), ...);
}

}  // namespace outback::portable
