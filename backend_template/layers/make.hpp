// What all functions that make a layer begin with.
#pragma once

#include "outback/runtime_error.hpp"
#include "outback/table_check.hpp"

namespace outback::layers {

/// Throws outback::invalid_argument unless a layer can be put over `below`.
inline void check_table(const outback_runtime* below) {
  if (const std::string problem = table_problem(below); !problem.empty()) {
    throw invalid_argument(problem);
  }
}

}  // namespace outback::layers
