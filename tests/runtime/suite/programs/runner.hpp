// Runs a program on the table under test and compares what it reads with the model.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tests/runtime/suite/programs/program.hpp"

namespace outback::suite {

/// What programs the table under test can run.
machine machine_of_the_table();

struct mismatch {
  std::size_t operation;  // its place in the program; one past the end: what comes after the last
  std::string text;       // expected and got
};

/// Runs `p`, which is legal, and frees what it made. Stops at the first mismatch. May be called
/// from several threads at once, for machines that are not `alone`.
std::optional<mismatch> run(const program& p);

}  // namespace outback::suite
