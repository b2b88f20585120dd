// A storage that the CPU cannot address, staged through its own memory for the length of a call.
#pragma once

#include <c10/core/StorageImpl.h>

#include "backend_template/ops/fallback/byte_ranges.h"

namespace outback::ops {

/// In the order of use: `use` for each tensor of the call, `fill`, the kernel, `note_written` for
/// each tensor that it wrote, and one of `write_back` and `complete`. `alias` is the CPU storage
/// that the kernel sees; every offset means the same in both.
class stage {
 public:
  /// `source` has to outlive the stage.
  explicit stage(c10::StorageImpl& source) : source_(source) {}

  /// The kernel uses these bytes; `fetched` says whether as they are now.
  void use(byte_range bytes, bool fetched);

  /// Gives `alias` memory and enqueues the copies into it on the device's current stream. It is
  /// pinned, unless most of a large storage is not used or the runtime cannot pin.
  void fill(c10::StorageImpl& alias);

  void note_written(byte_range bytes) { written_.add(bytes); }

  /// Enqueues the copies of what was written. The memory may be freed at once: its allocator waits
  /// for the stream.
  void write_back(c10::StorageImpl& alias);

  /// For an alias whose memory the kernel has replaced, and that is to replace the storage: fetches
  /// what neither it nor the kernel knows of the old one. Waits.
  void complete(c10::StorageImpl& alias);

 private:
  void fetch(void* to, const byte_ranges& bytes);

  c10::StorageImpl& source_;
  byte_ranges used_, fetched_, written_;
};

}  // namespace outback::ops
