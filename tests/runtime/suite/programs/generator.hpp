// Random programs that are legal by construction: before an operation that would race, the waits
// come that the contract asks for.
#pragma once

#include <cstdint>

#include "tests/runtime/suite/programs/program.hpp"

namespace outback::suite {

/// The program of `seed`. The same on every machine that is equal to `on`.
program generate(uint64_t seed, const machine& on);

}  // namespace outback::suite
