// Elementwise operators: you write the kernel for one loop, and PyTorch's TensorIterator does the
// rest. Read this to write an operator such as `add` or `exp` for your device.
//
// Your kernel gets pointers, strides and a shape. When it is called, the inputs have been broadcast
// and converted to the common dtype of PyTorch's type promotion, all operands are on one device,
// the output exists, has the right shape and does not partly overlap an input, and dimensions have
// been merged where possible. TensorIterator converts dtypes for the CPU only, so the functions
// here convert them for the device: they cast inputs to temporaries, and copy the result if the
// output has another dtype. Errors have the text and type of PyTorch's own operators.
//
// Meta tensors go through the same checks and stop before the kernel. So a function that calls
// `elementwise` can be registered for Meta too, as the operator's shape function, if all sizes are
// numbers; such a function does not handle the symbolic sizes of torch.compile(dynamic=True).
//
// All functions here may be called from any thread. They call the kernel on the calling thread,
// before they return.
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

/// One operand of a loop: a tensor, or a number in place of a tensor.
struct loop_operand {
  /// The first element, in device memory. A kernel must not write to inputs. Null means that the
  /// operand is `number`.
  void* data = nullptr;
  /// The strides in bytes, one for each dimension of the loop. Never negative; 0 in a dimension in
  /// which the operand is broadcast. Empty for a number.
  at::IntArrayRef strides;
  /// The loop's dtype; for outputs `elementwise_options::result_dtype` if the option is set.
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  /// A CPU scalar, if `elementwise_options::cpu_scalars_as_numbers` is set. If the loop's dtype is
  /// floating-point or complex, the number has the precision that the caller gave it; otherwise it
  /// is converted to the loop's dtype.
  c10::Scalar number;
};

/// One piece of work: `numel` results, each computed from one element of every input. All members
/// are borrowed and valid only during the call of the kernel, so a kernel that launches work must
/// copy the values that the work needs. Temporaries among the operands are freed after the call.
/// This is safe for work on `stream`, because the caching allocator reuses memory in the stream's
/// order; it is not safe for work on another stream.
struct elementwise_loop {
  /// First the outputs, then the inputs, in their order.
  c10::ArrayRef<loop_operand> operands;
  /// How many elements each dimension has. There is at least one dimension. The elements of the
  /// first dimension lie closest together in memory.
  at::IntArrayRef shape;
  /// The product of `shape`. Never 0: the kernel is not called for empty tensors.
  int64_t numel;
  /// The common dtype, which all inputs have.
  c10::ScalarType dtype;
  /// True if there is one dimension and the elements of every tensor lie next to each other in
  /// memory.
  bool is_contiguous;
  /// The stream to launch on. Its device is the calling thread's current device.
  kernel_stream& stream;
};

/// Your function: it launches the work of one loop on `loop.stream` and may throw. It is borrowed
/// for the call of `elementwise`, so a lambda may refer to local variables.
using elementwise_kernel = c10::function_ref<void(const elementwise_loop&)>;

/// Options of an operator that differs from the plain case, in which results have the common dtype.
struct elementwise_options {
  /// The dtype that the kernel writes, if it is not the common dtype: for example c10::kBool for
  /// comparisons.
  std::optional<c10::ScalarType> result_dtype = std::nullopt;
  /// Computes integers and bools in the default floating-point dtype, as `sqrt` does.
  bool promote_integer_inputs_to_float = false;
  /// Passes a CPU scalar (the 1 in `x + 1`, or a CPU tensor without dimensions) to the kernel as a
  /// number. Otherwise the scalar is copied to device memory, and the kernel gets only tensors.
  bool cpu_scalars_as_numbers = false;
  /// Splits the loop into parts and calls the kernel for each part, if the offsets of the whole
  /// loop would not fit into 32-bit integers (TensorIteratorBase::can_use_32bit_indexing).
  bool use_32bit_indexing = false;
};

/// Runs `kernel` over `inputs` and returns the result, a new tensor. Does not wait for the work.
/// Throws c10::Error, with PyTorch's own text, for inputs that do not broadcast or that are on
/// several devices; one CPU scalar is allowed beside a tensor of the device.
at::Tensor elementwise(at::TensorList inputs, elementwise_kernel kernel,
                       const elementwise_options& options = {});

/// Does the same, but writes the result to `out`, which is resized to the shape of the result. If
/// `out` is also among the inputs, this is the in-place operator, and `out` must have that shape
/// already. Returns `out`. Throws the same as `elementwise`, and c10::Error if the result cannot be
/// cast to the dtype of `out`, if elements of `out` overlap each other, or if `out` partly overlaps
/// an input.
at::Tensor& elementwise_out(at::TensorList inputs, at::Tensor& out, elementwise_kernel kernel,
                            const elementwise_options& options = {});

/// Runs `kernel` over an iterator that was built and not used yet. The iterator needs a common
/// dtype. The meta function of a structured operator builds such an iterator
/// (outback/kernels/structured.h); your own TensorIteratorConfig may set `allow_cpu_scalars`,
/// `promote_inputs_to_common_dtype` and `cast_common_dtype_to_outputs` as you like.
/// `options.promote_integer_inputs_to_float` is ignored: set it in the TensorIteratorConfig.
void run_loops(at::TensorIteratorBase& iterator, elementwise_kernel kernel,
               const elementwise_options& options = {});

}  // namespace outback::kernels
