// Storages that the CPU cannot address, staged through its own memory for the length of a call.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <cstddef>

namespace outback::ops {

/// A range of bytes; empty at first.
struct byte_range {
  size_t begin = 0;
  size_t end = 0;

  bool empty() const { return begin >= end; }
  void add(byte_range other);
};

/// What a tensor covers of its storage.
byte_range bytes_of(const c10::TensorImpl& tensor);

/// Pinned CPU memory as large as `storage`, so that every offset means the same in both. Its
/// content is not copied. Pageable where the runtime has no host memory group.
c10::DataPtr allocate_stage(const c10::StorageImpl& storage);

/// Enqueue copies between the stage and the device on the device's current stream. What is copied
/// in is there once the stream is synchronized; a stage that is copied out may be freed at once,
/// its allocator waits for the stream.
void copy_in(void* stage, const void* data, c10::Device device, byte_range bytes);
void copy_out(void* data, c10::Device device, const void* stage, byte_range bytes);

}  // namespace outback::ops
