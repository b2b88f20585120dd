// Elementwise operators: you write the kernel of one loop, and PyTorch's TensorIterator does
// everything around it. Read this to write an operator such as `add` or `exp` for your device.
//
// Your kernel is called with pointers, strides and a shape. Before that, the inputs were broadcast
// and converted to the common dtype of PyTorch's type promotion, all operands are on one device,
// the output exists, has the right shape and overlaps no input in part, and dimensions were merged
// where possible. TensorIterator converts dtypes for the CPU only, so the functions here do it for
// the device: they cast inputs to temporaries, and copy the result if the output has another dtype.
// Errors are those of PyTorch's own operators.
//
// Meta tensors go through the same checks and stop before the kernel. So a function that calls
// `elementwise` can be registered for Meta too, as the operator's shape function, if all sizes are
// numbers; it does not handle the symbolic sizes of torch.compile(dynamic=True).
//
// All functions may be called from any thread. They call the kernel on the calling thread, before
// they return.
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

/// One operand of a loop: a tensor, or a number in its place.
struct loop_operand {
  /// The first element, in device memory. A kernel must not write to inputs. Null means that the
  /// operand is `number`.
  void* data = nullptr;
  /// The strides in bytes, one for each dimension of the loop. Never negative; 0 in a dimension in
  /// which the operand is broadcast. Empty for a number.
  at::IntArrayRef strides;
  /// The loop's dtype; for outputs `elementwise_options::result_dtype` if that is set.
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  /// A CPU scalar, if `elementwise_options::cpu_scalars_as_numbers` is set. If the loop's dtype is
  /// floating-point or complex, the number has the precision that the caller gave it; otherwise it
  /// is converted to the loop's dtype.
  c10::Scalar number;
};

/// One piece of work: `numel` results, each computed from one element of every input. Everything in
/// it is borrowed and valid only during the call of the kernel, so a kernel that launches work
/// copies what that work needs. Temporaries among the operands are freed after the call. That is
/// safe for work on `stream`, because the caching allocator reuses memory in the stream's order; it
/// is not safe for work on another stream.
struct elementwise_loop {
  /// First the outputs, then the inputs in their order.
  c10::ArrayRef<loop_operand> operands;
  /// How many elements each dimension has. There is at least one dimension. The first one is the
  /// fastest: its elements lie closest together.
  at::IntArrayRef shape;
  /// The product of `shape`. Never 0: the kernel is not called for empty tensors.
  int64_t numel;
  /// The common dtype, which all inputs have.
  c10::ScalarType dtype;
  /// There is one dimension, and the elements of every tensor lie next to each other in memory.
  bool is_contiguous;
  /// The stream to launch on. Its device is the calling thread's current device.
  kernel_stream& stream;
};

/// Your function: it launches the work of one loop on `loop.stream` and may throw. It is borrowed
/// for the call of `elementwise`, so a lambda may refer to local variables.
using elementwise_kernel = c10::function_ref<void(const elementwise_loop&)>;

/// How an operator differs from the plain case, in which results have the common dtype.
struct elementwise_options {
  /// The dtype that the kernel writes, if it is not the common dtype: c10::kBool for comparisons.
  std::optional<c10::ScalarType> result_dtype = std::nullopt;
  /// Computes integers and bools in the default floating-point dtype, as `sqrt` does.
  bool promote_integer_inputs_to_float = false;
  /// Passes a CPU scalar (the 1 in `x + 1`, or a CPU tensor without dimensions) to the kernel as a
  /// number. Otherwise it is copied to device memory, and the kernel gets tensors only.
  bool cpu_scalars_as_numbers = false;
  /// Calls the kernel several times, each time for a part, if the offsets of one loop would not fit
  /// into 32-bit integers (TensorIteratorBase::can_use_32bit_indexing).
  bool use_32bit_indexing = false;
};

/// Computes `kernel` over `inputs` and returns the result, a new tensor. Does not wait for the
/// work. Throws c10::Error, with PyTorch's own text, for inputs that do not broadcast or that are
/// on several devices; one CPU scalar is allowed beside a tensor of the device.
at::Tensor elementwise(at::TensorList inputs, elementwise_kernel kernel,
                       const elementwise_options& options = {});

/// The same, with the result in `out`, which is resized to the shape of the result. If `out` is
/// also among the inputs, this is the in-place operator, and `out` must have that shape already.
/// Returns `out`. Throws what `elementwise` throws, and c10::Error if the result's dtype cannot be
/// cast to that of `out`, if elements of `out` overlap each other, or if `out` overlaps an input in
/// part.
at::Tensor& elementwise_out(at::TensorList inputs, at::Tensor& out, elementwise_kernel kernel,
                            const elementwise_options& options = {});

/// Runs `kernel` over an iterator that was built and not used yet. It needs a common dtype. The
/// meta function of a structured operator builds such an iterator (outback/kernels/structured.h);
/// your own TensorIteratorConfig may set `allow_cpu_scalars`, `promote_inputs_to_common_dtype` and
/// `cast_common_dtype_to_outputs` as you like. `options.promote_integer_inputs_to_float` is
/// ignored: set it in the TensorIteratorConfig.
void run_loops(at::TensorIteratorBase& iterator, elementwise_kernel kernel,
               const elementwise_options& options = {});

}  // namespace outback::kernels
