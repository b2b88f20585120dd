// Facts about operators that their schemas do not contain: one row for each operator that differs
// from the default.
#pragma once

#include <array>
#include <string_view>

namespace outback::ops {

/// A row holds for all overloads of the operator. Arguments are counted from 0.
struct operator_row {
  std::string_view name;  // "aten::fill_"

  // What the operator writes and reads. That it overwrites an out= argument is in its schema.
  int overwritten = -1;          // the argument that it writes completely and does not read
  bool lent_with_bytes = false;  // but it may be sparse or overlap: lend its old bytes
  bool may_leave_out = false;    // the CPU kernel does not always write its whole out= argument
  std::array<std::string_view, 2> also_written{};  // not marked in the schema
  int gathered = -1;  // the argument from which it reads only as many elements as its result has

  // How its arguments are lent to another device type's kernel.
  std::array<std::string_view, 3> cpu_arguments{};  // may be on the CPU, wherever the others are
  bool results_stay_on_cpu = false;
  bool composed_on_pointers = false;  // torch has one kernel for all devices, which reads pointers
  bool asks_requires_grad = false;    // its kernel reads requires_grad of its arguments
  bool moves_data = false;            // it computes nothing, so the fallback mode does not apply

  // How a capture records the operator.
  bool workless = false;  // Outback's kernel uses no memory, or only calls recorded operators
  bool warns_of_result = false;  // its out= variant resizes the result and warns
};

/// Returns the operator's row, or a row without a name if the table does not have the operator.
/// Thread-safe.
const operator_row& row_of(std::string_view name) noexcept;

}  // namespace outback::ops
