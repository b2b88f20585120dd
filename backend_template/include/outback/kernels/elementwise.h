// Elementwise operators: everything around a loop, by PyTorch's TensorIterator.
//
// A kernel is called with pointers, strides and a shape. By then operands are broadcast, have the
// common dtype that PyTorch's type promotion gives and live on one device; the output is there,
// resized if need be, and overlaps nothing; and as few dimensions are left as will do. What
// TensorIterator does for the CPU only is done here for the device: operands of another dtype are
// cast to temporaries, and a result that the output cannot take is copied into it. Errors are
// those of PyTorch's own operators.
//
// Meta tensors take the same way and stop before the kernel, so a function that calls `elementwise`
// is the shape function of its operator as well, where sizes are numbers and not the symbols of
// torch.compile(dynamic=True). Everything here may be called from any thread.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <optional>

#include "outback/kernels/stream.h"

namespace at {
struct TensorIteratorBase;
}  // namespace at

namespace outback::kernels {

/// A tensor of a loop, or a number in its place.
struct loop_operand {
  /// The first element, in device memory; inputs are not to be written. Null: `number` it is.
  void* data = nullptr;
  /// In bytes, one for each dimension of the loop: 0 where the operand is broadcast, and negative
  /// never.
  at::IntArrayRef strides;
  /// The loop's dtype; for outputs `elementwise_options::result_dtype` where that is set.
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  /// A CPU scalar (see `elementwise_options::cpu_scalars_as_numbers`). In a floating-point loop it
  /// is as exact as the caller gave it; in any other it is a value of the loop's dtype.
  c10::Scalar number;
};

/// One piece of work, borrowed for the call: `numel` results, each from one element of every input.
struct elementwise_loop {
  /// The outputs, then the inputs in their order.
  c10::ArrayRef<loop_operand> operands;
  /// At least one dimension. The first one is the fastest: its elements lie closest together.
  at::IntArrayRef shape;
  /// The product of `shape`, never 0: empty tensors do not get this far.
  int64_t numel;
  /// The common dtype, which all inputs have.
  c10::ScalarType dtype;
  /// One dimension, and the elements of every tensor lie one after the other.
  bool is_contiguous;
  /// Where the work goes; its device is the current one.
  kernel_stream& stream;
};

using elementwise_kernel = c10::function_ref<void(const elementwise_loop&)>;

struct elementwise_options {
  /// What the kernel writes where that is not the common dtype: c10::kBool for comparisons.
  std::optional<c10::ScalarType> result_dtype = std::nullopt;
  /// Integers and bools are computed in the default floating-point dtype, as for `sqrt`.
  bool promote_integer_inputs_to_float = false;
  /// A CPU scalar, `x + 1` or a tensor of the CPU without dimensions, goes to the kernel as a
  /// number. Otherwise it is put into device memory, and the kernel sees tensors only.
  bool cpu_scalars_as_numbers = false;
  /// Calls the kernel several times where one loop's offsets would not fit 31 bits.
  bool use_32bit_indexing = false;
};

/// A new tensor with what `kernel` makes of `inputs`. Throws c10::Error for inputs that do not
/// broadcast, are on several devices, or are more than one CPU scalar.
at::Tensor elementwise(at::TensorList inputs, elementwise_kernel kernel,
                       const elementwise_options& options = {});

/// The same into `out`, which gets the shape of the result; with `out` among the inputs it is the
/// operator in place, which must have that shape already. Throws like `elementwise`, and where the
/// result's dtype cannot be cast to that of `out` or the memory of `out` overlaps with itself or,
/// in part, with an input's.
at::Tensor& elementwise_out(at::TensorList inputs, at::Tensor& out, elementwise_kernel kernel,
                            const elementwise_options& options = {});

/// The same for an iterator that is just built, and has a common dtype: what the meta function
/// of a structured operator builds (outback/kernels/structured.h), or a TensorIteratorConfig of
/// your own that sets `allow_cpu_scalars`, `promote_inputs_to_common_dtype` and
/// `cast_common_dtype_to_outputs` as it pleases. `promote_integer_inputs_to_float` is up to it too.
void run_loops(at::TensorIteratorBase& iterator, elementwise_kernel kernel,
               const elementwise_options& options = {});

}  // namespace outback::kernels
