// NCCL's dtypes and reductions, on the host.
#pragma once

#include <cstddef>
#include <span>

#include "tests/fakes/nccl/nccl_api.hpp"

namespace fake_nccl {

/// 0 where there is no such dtype.
std::size_t size_of(dtype given);
const char* name_of(dtype given);
const char* name_of(reduction given);

/// One element, as a number.
double read_number(dtype of, const std::byte* from);

/// Reduces `count` elements of each part, in the order of the parts, and writes the result. Numbers
/// of 16 or 8 bits are reduced as float32 and rounded once. Each element is first multiplied by
/// that `factor` of its part; null: by none. `average` of integers is what their division leaves.
void reduce(dtype of, reduction how, std::span<const std::byte* const> parts, std::size_t count,
            const double* factors, std::byte* to);

}  // namespace fake_nccl
