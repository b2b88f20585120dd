#include "tests/fakes/cudart/decompress.hpp"

#include <dlfcn.h>

namespace fake_cuda {

std::optional<std::vector<std::byte>> from_lz4(std::span<const std::byte> packed,
                                               std::size_t unpacked) {
  std::vector<std::byte> made;
  made.reserve(unpacked);
  std::size_t at = 0;
  // A length that does not fit into four bits goes on in bytes, up to one that is not 255.
  const auto length = [&](std::size_t nibble) {
    if (nibble != 15) return nibble;
    std::size_t all = 15, more = 255;
    while (more == 255 && at < packed.size()) all += more = std::size_t(packed[at++]);
    return all;
  };
  while (at < packed.size() && made.size() < unpacked) {
    const auto token = std::size_t(packed[at++]);
    const std::size_t literals = length(token >> 4);
    if (literals > packed.size() - at) return std::nullopt;
    made.insert(made.end(), packed.begin() + std::ptrdiff_t(at),
                packed.begin() + std::ptrdiff_t(at + literals));
    at += literals;
    if (made.size() >= unpacked || packed.size() - at < 2) break;
    const std::size_t back = std::size_t(packed[at]) | std::size_t(packed[at + 1]) << 8;
    at += 2;
    const std::size_t repeated = length(token & 15) + 4;
    if (back == 0 || back > made.size()) return std::nullopt;
    for (std::size_t i = 0; i < repeated; ++i) made.push_back(made[made.size() - back]);
  }
  return made.size() == unpacked ? std::optional(std::move(made)) : std::nullopt;
}

std::optional<std::vector<std::byte>> from_zstd(std::span<const std::byte> packed,
                                                std::size_t unpacked) {
  using decompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  static const auto function = [] {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr
                              : reinterpret_cast<decompress>(dlsym(library, "ZSTD_decompress"));
  }();
  if (function == nullptr) return std::nullopt;
  std::vector<std::byte> made(unpacked);
  const std::size_t size = function(made.data(), made.size(), packed.data(), packed.size());
  return size == unpacked ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace fake_cuda
