// What the command line of the suite's program says beyond what GoogleTest reads of it.
#pragma once

#include <cstdint>
#include <string>

namespace outback::suite {

struct options {
  bool whole = false;        // --whole: an unsupported test fails the run
  std::string expectations;  // --expectations=FILE, see expectations.hpp
  uint64_t programs = 200;   // --programs=N or OUTBACK_SUITE_PROGRAMS: random stream programs
  uint64_t seed = 1;         // --seed=N or OUTBACK_SUITE_SEED: of the first of them
};

/// Of this process: the defaults before `read_options`.
const options& given_options();

/// Why they cannot be understood; "" if they can. Called once, before any test runs.
std::string read_options(int argc, char** argv);

}  // namespace outback::suite
