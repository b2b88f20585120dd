// What the command line of the suite's program says beyond what GoogleTest reads of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace outback::suite {

struct options {
  bool whole = false;              // --whole: an unsupported test fails the run
  bool lists_unsupported = false;  // --list-unsupported: a line for each
  std::string expectations;        // --expectations=FILE, see expectations.hpp
  uint64_t programs = 200;         // --programs=N or OUTBACK_SUITE_PROGRAMS: random stream programs
  uint64_t seed = 1;               // --seed=N or OUTBACK_SUITE_SEED: of the first of them
  uint64_t size = uint64_t{8} << 20;  // --size=BYTES or OUTBACK_SUITE_SIZE: of the big copies
  uint64_t time_limit = 300;          // --time-limit=SECONDS or OUTBACK_SUITE_TIME_LIMIT; 0: none
  // --kernels=FORMAT:FILE, any number of times: the suite's kernels, compiled for the device.
  // FORMAT is a number of outback_format, or a vendor's own.
  std::vector<std::pair<int32_t, std::string>> kernels;
};

/// Of this process: the defaults before `read_options`.
const options& given_options();

/// Why they cannot be understood; "" if they can. Called once, before any test runs. What other
/// processes of the suite have to know is in their environment from then on.
std::string read_options(int argc, char** argv);

/// How long a test waits for what should come soon: a fifth of what it may take as a whole.
std::chrono::seconds patience();

}  // namespace outback::suite
