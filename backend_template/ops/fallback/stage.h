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

/// CPU memory as large as `storage`, so that every offset means the same in both. Its content is
/// not copied.
c10::DataPtr allocate_stage(const c10::StorageImpl& storage);

/// Fills the stage from the device, and the device from the stage. Both wait until the bytes are
/// there.
void copy_in(void* stage, const void* data, c10::Device device, byte_range bytes);
void copy_out(void* data, c10::Device device, const void* stage, byte_range bytes);

}  // namespace outback::ops
