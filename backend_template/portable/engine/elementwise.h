// Elementwise operators: launches a body of portable/kernels/elementwise over a TensorIterator,
// which has worked out shapes, strides, dtypes and the result.
#pragma once

#include <ATen/TensorIterator.h>

#include <cstdint>

#include "backend_template/portable/engine/kernel_cache.h"
#include "backend_template/portable/engine/numbers.h"

namespace outback::portable {

/// A row of portable/kernels/elementwise/*.h.
struct body {
  /// The dtypes that the row is for; integers include bool. PyTorch refuses bool for `numbers`, all
  /// others, and for `whole_numbers`, all other integers.
  enum class kind : uint8_t { all, numbers, floats, integers, whole_numbers };

  constexpr body(const char* name, int operands, kind types = kind::all, bool gives_truth = false,
                 bool takes_wide_numbers = false)
      : name(name),
        operands(operands),
        types(types),
        gives_truth(gives_truth),
        takes_wide_numbers(takes_wide_numbers) {}

  const char* name;
  int operands;
  kind types;
  bool gives_truth;         // TRUTH: a bool, not a value of the common dtype
  bool takes_wide_numbers;  // operands that are numbers are not rounded to 16-bit types
  // Contiguous f32, f16 and bf16; any strides and types, computed in f32, f64 and i64.
  kernel_cache<6> kernels;
};

/// The operand itself, in the type of the output.
inline constinit body copy_body("copy", 1);

/// Launches the body for all elements on the current stream of the output's device. `elements` has
/// one output, on the device, and the body's operands, each on the device or a CPU scalar, of
/// dtypes that `takes` accepts, and at most 8 dimensions. The body is computed in the common dtype,
/// or in `computed_in` for an iterator without one. Reads and writes operands of other dtypes as
/// they are, without a cast in between; the output gets values of the common dtype. Does nothing
/// for no elements.
///
/// Throws no_kernel, before anything is written, if the body is not for the common dtype or does
/// not load, or if PyTorch refuses a number; and what core::launch_kernel throws.
void run_elementwise(at::TensorIteratorBase& elements, body& which, const numbers& given = {},
                     c10::ScalarType computed_in = c10::ScalarType::Undefined);

}  // namespace outback::portable
