// Copies and fills, as the runtime's and the driver's entry points share them.
#pragma once

#include "tests/fakes/cudart/enqueue.hpp"

namespace fake_cuda {

/// Copies in the order of the stream, and as cudart's "API synchronization behavior" has it: from
/// pageable memory to a device the bytes are taken before the call returns, from a device to
/// pageable memory and between host memories all is done then. Releases the lock while it waits.
void copy(call& c, void* to, const void* from, std::size_t size, cudaMemcpyKind kind, stream& on);
/// `height` rows of `width` bytes each, by the same rules.
void copy_rows(call& c, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
               std::size_t width, std::size_t height, cudaMemcpyKind kind, stream& on);
/// Between the memories of two devices, which are checked.
void copy_between(call& c, void* to, int to_device, const void* from, int from_device,
                  std::size_t size, stream& on);

struct fill_pattern {
  unsigned value;
  unsigned size;  // 1, 2 or 4 bytes of it
};
/// `height` rows of `width` patterns each, `pitch` bytes apart.
void fill(call& c, void* to, std::size_t pitch, fill_pattern with, std::size_t width,
          std::size_t height, stream& on);

/// Waits until all that was enqueued is done; throws if the device is lost then.
void synchronize(call& c, stream& awaited);

}  // namespace fake_cuda
