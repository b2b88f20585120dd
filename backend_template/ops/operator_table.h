// What the schemas of operators do not say: one row for each operator that differs from the rest.
#pragma once

#include <array>
#include <string_view>

namespace outback::ops {

/// Holds for all overloads of the operator. Arguments are counted from 0.
struct operator_row {
  std::string_view name;  // "aten::fill_"

  // What it writes and reads. An out= argument is overwritten, which its schema says.
  int overwritten = -1;          // the argument that it writes whole and does not read
  bool lent_with_bytes = false;  // but may be sparse or overlap another one: lend its old bytes too
  bool may_leave_out = false;    // the CPU's kernel does not always fill its out= argument
  std::array<std::string_view, 2> also_written{};  // arguments that the schema says nothing of
  int gathered = -1;  // the argument of which it reads as many elements as its result has

  // How it is lent to another device type's kernel.
  std::array<std::string_view, 3> cpu_arguments{};  // may be on the CPU, whatever the others are
  bool results_stay_on_cpu = false;
  bool composed_on_pointers =
      false;                        // torch has one kernel, for every device, which takes pointers
  bool asks_requires_grad = false;  // its kernel reads requires_grad of its arguments
  bool moves_data = false;          // it computes nothing: the fallback mode does not judge it

  // How a capture records it.
  bool workless = false;  // Outback's kernel uses no memory, or only calls recorded operators
  bool warns_of_result = false;  // its out= variant resizes the result, and warns of that
};

/// Returns the operator's row, or one without a name for an operator that has none. Thread-safe.
const operator_row& row_of(std::string_view name) noexcept;

}  // namespace outback::ops
