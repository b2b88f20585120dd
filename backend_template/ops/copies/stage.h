// A storage that the CPU cannot address, staged through its own memory for the length of a call.
#pragma once

#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>

#include <utility>

#include "backend_template/ops/copies/byte_ranges.h"

namespace outback::ops {

/// In the order of use: `use` for each tensor of the call, `fill`, the kernel, `note_written` for
/// each tensor that it wrote, and one of `write_back` and `complete`. `alias` is the CPU storage
/// that the kernel sees; every offset means the same in both.
class stage {
 public:
  /// Holds `source`.
  explicit stage(c10::Storage source)
      : held_(std::move(source)), source_(*held_.unsafeGetStorageImpl()) {}

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

  const c10::Storage held_;
  c10::StorageImpl& source_;
  byte_ranges used_, fetched_, written_;
};

}  // namespace outback::ops
