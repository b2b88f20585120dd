// The stage of a storage that the CPU cannot address: a CPU copy, for one operator call, of the
// part of the storage that the call uses. A call that uses one row of a large tensor has a stage of
// the row's size.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <limits>

#include "backend_template/ops/copies/byte_ranges.h"

namespace outback::ops {

/// kernel_call calls, in this order: `use` for each tensor of the call, `fill`, then the kernel,
/// `note_written` for each tensor that the kernel wrote, and one of `write_back` and `complete`.
/// `alias` is the CPU storage that the kernel sees. It has the bytes from `begin` to the end of the
/// last tensor of the call, with the gaps between tensors. So an offset in the alias is the offset
/// in the storage minus `begin`.
///
/// All copies go through the current stream of the device and throw the error of a failed slot.
/// While that stream is capturing, a wait for the copies throws c10::Error and breaks the capture.
/// Not thread-safe.
class stage {
 public:
  /// `source` is a storage of a device whose memory the CPU cannot address. It must outlive this
  /// object.
  explicit stage(c10::StorageImpl& source) : source_(source) {}

  /// Notes that the kernel uses `tensor`, a tensor over the storage. With `overwritten`, the kernel
  /// overwrites the whole tensor without reading it, so its old bytes are not fetched.
  void use(const c10::TensorImpl& tensor, bool overwritten);
  /// Notes that the kernel may read and write the whole storage.
  void use_all();

  /// Gives `alias` its memory and size, and enqueues copies of the needed bytes into it. The memory
  /// is pinned and the copies are asynchronous, so the caller must wait for the stream before it
  /// runs the kernel. If the kernel uses only a small part of a large stage, or if the runtime has
  /// no group host_memory, the memory is pageable, and each copy waits.
  void fill(c10::StorageImpl& alias);

  /// Returns the byte offset in the storage at which the alias begins: a multiple of 64, so that
  /// elements of any dtype have the same alignment as in the storage. Valid after `fill`, which
  /// sets it once.
  size_t begin() const { return begin_; }

  /// Notes that the kernel wrote `alias`, a tensor over the alias.
  void note_written(const c10::TensorImpl& alias);

  /// For an alias to which the kernel has given other memory: returns true if its bytes still fit
  /// into the storage, so that `write_back` applies. That happens if a tensor grew beyond a stage
  /// of a part of the storage, but not beyond the storage.
  bool has_room_for(const c10::StorageImpl& alias) const;

  /// Enqueues the copies of the written bytes to the device. The alias's memory may be freed when
  /// this returns: the allocator does not reuse pinned memory before the copies are done, and
  /// pageable memory has been read.
  void write_back(c10::StorageImpl& alias);

  /// Call it if the kernel resized the alias, so that the alias's new memory will replace the
  /// storage's memory. Inserts the bytes before `begin` at the front of the alias, and fetches all
  /// bytes of the storage that were neither fetched before nor written. Then the alias has all
  /// bytes at their offsets in the storage. Waits for the copies.
  void complete(c10::StorageImpl& alias);

 private:
  byte_range all() const { return {0, source_.nbytes()}; }
  void reach(byte_range bytes);
  void fetch(void* first, size_t offset, const byte_ranges& bytes);

  c10::StorageImpl& source_;
  // The range that the tensors of the call span. A tensor without elements counts with its offset.
  size_t begin_ = std::numeric_limits<size_t>::max();
  size_t end_ = 0;
  byte_ranges used_, fetched_, written_;
};

}  // namespace outback::ops
