// The two methods by which nvcc compresses the images of a fat binary.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace fake_cuda {

/// Blocks of LZ4, as releases before 12.8 and `-compress-mode=speed` write them. Nothing where they
/// are malformed.
std::optional<std::vector<std::byte>> from_lz4(std::span<const std::byte> packed,
                                               std::size_t unpacked);
/// A frame of Zstandard, by the system's libzstd. Nothing where there is none.
std::optional<std::vector<std::byte>> from_zstd(std::span<const std::byte> packed,
                                                std::size_t unpacked);

}  // namespace fake_cuda
