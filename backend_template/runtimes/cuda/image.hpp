// The bytes of a module, as the driver's loader takes them.
#pragma once

#include <cstddef>
#include <vector>

#include "outback/runtime.h"

namespace outback::cuda {

/// Returns a copy of the bytes with a null character at its end, which the driver needs after text.
/// The driver is not told how many bytes there are, so what it would read must be all there. Throws
/// outback::unsupported for a format that CUDA does not take, and outback::invalid_argument for
/// text with a null character in it, for a cubin or fatbin whose end is missing, and for bytes that
/// are neither.
std::vector<char> image_of(outback_format format, const void* bytes, std::size_t size);

}  // namespace outback::cuda
