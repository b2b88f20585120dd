// The stage of a storage in memory apart: a CPU copy of it for the length of one operator's call.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include "backend_template/ops/copies/byte_ranges.h"

namespace outback::ops {

/// kernel_call calls, in this order: `use` for each tensor of the call, `fill`, then the kernel,
/// `note_written` for each tensor that it wrote, and one of `write_back` and `complete`. `alias` is
/// the CPU storage that the kernel sees; a byte has the same offset in both storages.
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

  /// Gives `alias` memory of the storage's size and enqueues the copies of the fetched bytes into
  /// it. The memory is pinned, and the copies asynchronous: the caller waits for the stream before
  /// it runs the kernel. Pageable memory, for which each copy waits, is used for a large storage
  /// most of which the kernel does not use, and if the runtime has no group host_memory.
  void fill(c10::StorageImpl& alias);

  /// Says that the kernel wrote `alias`, a tensor over the alias.
  void note_written(const c10::TensorImpl& alias);

  /// Enqueues the copies of the written bytes to the device. The alias's memory may be freed when
  /// this returns: pinned memory is not used again before the copies are done, and pageable memory
  /// has been read.
  void write_back(c10::StorageImpl& alias);

  /// For a kernel that resized the alias, whose new memory is to replace the storage's. Fetches the
  /// bytes of the storage that were neither fetched before nor written, so that the new memory
  /// holds all of them. Waits for the copies.
  void complete(c10::StorageImpl& alias);

 private:
  byte_range all() const { return {0, source_.nbytes()}; }
  void fetch(void* to, const byte_ranges& bytes);

  c10::StorageImpl& source_;
  byte_ranges used_, fetched_, written_;
};

}  // namespace outback::ops
