// Launches the kernels of portable/kernels/move.k, add_at.k and linear_index.k on the current
// stream of the output's device. None of these functions waits. A kernel that finds a place out of
// range neither reads nor writes there, and a later wait throws (core/streams/kernel_faults.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>

#include "backend_template/core/streams/kernel_faults.h"
#include "backend_template/portable/engine/number_type.h"
#include "backend_template/portable/engine/numbers.h"
#include "backend_template/portable/engine/walk.h"

namespace outback::portable {

/// `indexed` in portable/kernels/indexed.h.
struct indexed {
  int64_t size = 0;
  int64_t stride = 0;
  int64_t inner = 1;
  int64_t lines = 1;
  int64_t line_stride = 0;
  int64_t skip = -1;
  uint64_t value = 0;
  int32_t is_i64 = 1;
  int32_t wraps = 0;
  int32_t ordered = 0;
  int32_t fault = 0;
  int32_t has_value = 0;
  int32_t reserved = 0;
};

/// Returns what a kernel needs to take places in dimension `dim` of `tensor` from `index`.
/// `out_of_range` is the operator's fault.
indexed along(const at::Tensor& tensor, int64_t dim, const at::Tensor& index,
              core::kernel_fault& out_of_range);

/// Lets the kernel give the same result each time although places come several times. The outermost
/// dimensions of `elements`, with `lines` elements in all, are those that the index goes along; it
/// lies in steps of `line_stride` bytes.
void order(indexed& index, const walk& elements, int64_t lines, int64_t line_stride);

/// Sets the bits of `value` as `dtype` for all elements. Throws c10::Error, as the CPU does, for a
/// value that overflows.
void set_value(indexed& index, const at::Scalar& value, c10::ScalarType dtype);

/// out = in. `start`, in bytes, is where `in` begins, for strides that are negative.
void launch_copy(walk elements, int64_t element_size, c10::DeviceIndex device, int64_t start = 0);
/// out = in[index].
void launch_take(walk elements, int64_t element_size, c10::DeviceIndex device,
                 const indexed& index);
/// out[index] = in.
void launch_put(walk elements, int64_t element_size, c10::DeviceIndex device, const indexed& index);
/// out[index] += alpha * in, for an output of `type`: f32, f64 or i64.
void launch_add_at(walk elements, number_type type, c10::DeviceIndex device, const indexed& index,
                   const number& alpha);
/// The operand `out` of `elements`, of int64, becomes the offset in bytes that the index takes, or,
/// unless `is_first`, grows by it.
void launch_linear_index(walk elements, c10::DeviceIndex device, const indexed& index,
                         bool is_first);

/// Copies `from` to `to`, of the same sizes and on the same device, also of another dtype.
void copy_values(const at::Tensor& to, const at::Tensor& from);

/// Returns `tensor` if it is contiguous, or else a contiguous copy.
at::Tensor contiguous(const at::Tensor& tensor);

}  // namespace outback::portable
