// Elementwise kernels of vendors: PyTorch's TensorIterator does the checks, shapes, strides and
// dtypes; the vendor's loop gets pointers and strides.
#include "outback/kernels/elementwise.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>

namespace outback::kernels {
namespace {

// Where the kernel finds an operand: at an index of the iterator that runs, or as a number.
struct source {
  int64_t index = 0;
  bool is_number = false;
  c10::Scalar number = 0;
};
using sources = c10::SmallVector<source, 4>;

// TensorIterator has no dimension for a single element; a kernel always gets at least one.
constexpr int64_t one = 1;
constexpr int64_t no_stride = 0;

void call(const at::TensorIteratorBase& iterator, const sources& from, c10::ScalarType dtype,
          kernel_stream& stream, elementwise_kernel kernel) {
  const bool is_single = iterator.ndim() == 0;
  c10::SmallVector<loop_operand, 4> operands;
  bool is_contiguous = iterator.ndim() <= 1;
  for (const source& each : from) {
    loop_operand operand;
    if (each.is_number) {
      operand.dtype = dtype;
      operand.number = each.number;
    } else {
      operand.data = iterator.data_ptr(each.index);
      operand.strides = is_single ? at::IntArrayRef(no_stride) : iterator.strides(each.index);
      operand.dtype = iterator.dtype(each.index);
      is_contiguous = is_contiguous && (iterator.numel() == 1 ||
                                        operand.strides[0] == iterator.element_size(each.index));
    }
    operands.push_back(operand);
  }
  kernel({.operands = operands,
          .shape = is_single ? at::IntArrayRef(one) : iterator.shape(),
          .numel = iterator.numel(),
          .dtype = dtype,
          .is_contiguous = is_contiguous,
          .stream = stream});
}

void run(at::TensorIteratorBase& iterator, const sources& from, c10::ScalarType dtype,
         kernel_stream& stream, elementwise_kernel kernel, bool use_32bit_indexing) {
  if (!use_32bit_indexing || iterator.can_use_32bit_indexing()) {
    call(iterator, from, dtype, stream, kernel);
    return;
  }
  for (at::TensorIterator& part : iterator.with_32bit_indexing()) {
    call(part, from, dtype, stream, kernel);
  }
}

// The value of a CPU scalar, for a kernel that computes in `dtype`. It is not rounded to a
// floating-point `dtype` here: float16 might not hold it, and the kernel may compute in float32.
c10::Scalar number_for(const at::Tensor& scalar, c10::ScalarType dtype) {
  const bool keeps_it = c10::isFloatingType(dtype) || c10::isComplexType(dtype);
  return (keeps_it ? scalar : scalar.to(dtype)).item();
}

// The CPU scalar as a tensor of the device, for a kernel that takes no numbers.
at::Tensor on_device(const at::Tensor& scalar, c10::ScalarType dtype, c10::Device device) {
  at::Tensor there = at::empty({}, at::TensorOptions(dtype).device(device));
  return there.fill_(scalar.to(dtype).item());
}

// True if the kernel can take the operands as they are: of the right dtypes, and no CPU scalar.
bool is_ready(const at::TensorIteratorBase& iterator, c10::ScalarType dtype,
              c10::ScalarType result_dtype) {
  for (int i = 0; i < iterator.ntensors(); ++i) {
    const bool is_output = i < iterator.noutputs();
    if (iterator.dtype(i) != (is_output ? result_dtype : dtype)) return false;
    if (!is_output && iterator.is_cpu_scalar(i)) return false;
  }
  return true;
}

// Runs the kernel on converted operands, with a second iterator over them. The caller's iterator
// has done the checks, so this one does not repeat them.
void run_converted(at::TensorIteratorBase& iterator, c10::ScalarType dtype,
                   c10::ScalarType result_dtype, kernel_stream& stream, elementwise_kernel kernel,
                   const elementwise_options& options) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).resize_outputs(false);
  sources from;
  c10::SmallVector<at::Tensor, 1> results;
  for (int i = 0; i < iterator.noutputs(); ++i) {
    const at::Tensor& output = iterator.output(i);
    results.push_back(output.scalar_type() == result_dtype
                          ? output
                          : at::empty_like(output, output.options().dtype(result_dtype)));
    config.add_owned_output(results.back());
    from.push_back({.index = i});
  }
  int64_t next = iterator.noutputs();
  for (int i = 0; i < iterator.ninputs(); ++i) {
    const at::Tensor& input = iterator.input(i);
    if (!iterator.is_cpu_scalar(iterator.noutputs() + i)) {
      config.add_owned_const_input(input.to(dtype));
    } else if (options.cpu_scalars_as_numbers) {
      from.push_back({.is_number = true, .number = number_for(input, dtype)});
      continue;
    } else {
      config.add_owned_const_input(on_device(input, dtype, iterator.device()));
    }
    from.push_back({.index = next++});
  }

  at::TensorIterator converted = config.build();
  run(converted, from, dtype, stream, kernel, options.use_32bit_indexing);
  stream.mark_launched();  // before copies that have to wait for it
  for (int i = 0; i < iterator.noutputs(); ++i) {
    if (!results[i].is_same(iterator.output(i))) iterator.output(i).copy_(results[i]);
  }
}

at::Tensor build_and_run(at::TensorList inputs, const at::Tensor& out, elementwise_kernel kernel,
                         const elementwise_options& options) {
  at::TensorIteratorConfig config;
  config.add_output(out);
  for (const at::Tensor& input : inputs) config.add_const_input(input);
  config.allow_cpu_scalars(true)
      .promote_inputs_to_common_dtype(true)
      .promote_integer_inputs_to_float(options.promote_integer_inputs_to_float)
      .cast_common_dtype_to_outputs(true);
  if (!options.result_dtype) {
    config.enforce_safe_casting_to_output(true);
  } else if (!out.defined()) {
    config.declare_static_dtype(*options.result_dtype);
  } else {
    TORCH_CHECK(c10::canCast(*options.result_dtype, out.scalar_type()), "result type ",
                *options.result_dtype, " can't be cast to the desired output type ",
                out.scalar_type());
  }
  at::TensorIterator iterator = config.build();
  run_loops(iterator, kernel, options);
  return iterator.output();
}

}  // namespace

void run_loops(at::TensorIteratorBase& iterator, elementwise_kernel kernel,
               const elementwise_options& options) {
  if (iterator.numel() == 0 || iterator.device().is_meta()) return;
  const c10::ScalarType dtype = iterator.common_dtype();
  const c10::ScalarType result_dtype = options.result_dtype.value_or(dtype);
  kernel_stream stream(iterator.device());
  if (!is_ready(iterator, dtype, result_dtype)) {
    run_converted(iterator, dtype, result_dtype, stream, kernel, options);
    return;
  }
  sources from;
  for (int i = 0; i < iterator.ntensors(); ++i) from.push_back({.index = i});
  run(iterator, from, dtype, stream, kernel, options.use_32bit_indexing);
}

at::Tensor elementwise(at::TensorList inputs, elementwise_kernel kernel,
                       const elementwise_options& options) {
  return build_and_run(inputs, at::Tensor(), kernel, options);
}

at::Tensor& elementwise_out(at::TensorList inputs, at::Tensor& out, elementwise_kernel kernel,
                            const elementwise_options& options) {
  build_and_run(inputs, out, kernel, options);
  return out;
}

}  // namespace outback::kernels
