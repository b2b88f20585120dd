// The stage of a storage in memory apart: a CPU copy of what one operator's call uses of it, for
// the length of that call. A call that uses one row of a large tensor has a stage of the row's
// size.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <limits>

#include "backend_template/ops/copies/byte_ranges.h"

namespace outback::ops {

/// kernel_call calls, in this order: `use` for each tensor of the call, `fill`, then the kernel,
/// `note_written` for each tensor that it wrote, and one of `write_back` and `complete`. `alias` is
/// the CPU storage that the kernel sees. It has the bytes from `begin` on, as far as the tensors of
/// the call reach, gaps between them included; so an offset in the alias is one in the storage less
/// `begin`.
///
/// All copies go through the current stream of the device and throw the error of a failed slot.
/// While that stream is capturing, waiting for them throws c10::Error and breaks the capture. Not
/// thread-safe.
class stage {
 public:
  /// `source` is a storage of a device whose memory the CPU cannot address. It must outlive this
  /// object.
  explicit stage(c10::StorageImpl& source) : source_(source) {}

  /// Says that the kernel uses `tensor`, a tensor over the storage. If it only overwrites it, and
  /// all of it, the old bytes are not fetched.
  void use(const c10::TensorImpl& tensor, bool overwritten);
  /// Says that it may read and write all of the storage.
  void use_all();

  /// Gives `alias` its memory and size, and enqueues the copies of the fetched bytes into it. The
  /// memory is pinned, and the copies asynchronous: the caller waits for the stream before it runs
  /// the kernel. Pageable memory, for which each copy waits, is used for a large stage most of
  /// which the kernel does not use, and if the runtime has no group host_memory.
  void fill(c10::StorageImpl& alias);

  /// Returns where in the storage the alias begins, in bytes: a multiple of 64, so that elements
  /// of any dtype are as aligned as they are in the storage. Valid after `fill`, and stays as it
  /// was then.
  size_t begin() const { return begin_; }

  /// Says that the kernel wrote `alias`, a tensor over the alias.
  void note_written(const c10::TensorImpl& alias);

  /// Returns true if the alias, to which the kernel has given other memory, still lies within the
  /// storage, so that it is to be written back. That is so if a tensor grew beyond a stage that is
  /// a part of the storage, and not beyond the storage.
  bool has_room_for(const c10::StorageImpl& alias) const;

  /// Enqueues the copies of the written bytes to the device. The alias's memory may be freed when
  /// this returns: pinned memory is not used again before the copies are done, and pageable memory
  /// has been read.
  void write_back(c10::StorageImpl& alias);

  /// For a kernel that resized the alias, whose new memory is to replace the storage's. Puts the
  /// bytes before `begin` in front of it, and fetches those of the storage that were neither
  /// fetched before nor written, so that the alias holds all of them, each at its offset in the
  /// storage. Waits for the copies.
  void complete(c10::StorageImpl& alias);

 private:
  byte_range all() const { return {0, source_.nbytes()}; }
  void reach(byte_range bytes);
  void fetch(void* first, size_t offset, const byte_ranges& bytes);

  c10::StorageImpl& source_;
  // What the tensors of the call span. A tensor without elements has a place too.
  size_t begin_ = std::numeric_limits<size_t>::max();
  size_t end_ = 0;
  byte_ranges used_, fetched_, written_;
};

}  // namespace outback::ops
