// The check with which every function that makes a layer begins.
#pragma once

#include "outback/runtime_error.hpp"
#include "outback/table_check.hpp"

namespace outback::layers {

/// Throws outback::invalid_argument, with the sentence of `outback::table_problem`, unless a layer
/// can be put over `below`. A null `below` is refused too.
inline void check_table(const outback_runtime* below) {
  if (const std::string problem = table_problem(below); !problem.empty()) {
    throw invalid_argument(problem);
  }
}

}  // namespace outback::layers
