// The sequential model: what a legal program must read, since every order that it allows has the
// result of running it one operation after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tests/runtime/suite/programs/program.hpp"

namespace outback::suite {

/// What an operation must answer.
struct answer {
  std::vector<std::byte> content;  // of host_check and read_back
  bool ready = false;              // a query must say so; it may where this is false
  bool forward = false;            // no time less than zero went by
};

/// An answer for each operation. `p` is legal.
std::vector<answer> predict(const program& p);

/// What a fill, a callback or the CPU writes: both the model's and the real one.
void write_fill(std::byte* to, const operation& fill);
void write_noise(std::byte* to, const operation& write);

/// `operations` without those that are not legal where they stand, and what that entails.
std::vector<operation> legal_part(const machine& on, const std::vector<operation>& operations);

}  // namespace outback::suite
