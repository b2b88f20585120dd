// The memory of one device: a file in memory that is mapped twice. The addresses that a user gets
// cannot be touched; the library reads and writes through the other view.
//
// Guarded by the machine's lock, but for the bytes themselves. Never destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace fake_cuda {

class arena {
 public:
  /// CUDA promises 256; cudaMalloc's addresses have been multiples of 512 ever since.
  static constexpr std::size_t alignment = 512;

  /// Of a device with `capacity` bytes. Reserves addresses, and no memory.
  explicit arena(std::size_t capacity);
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// An address that nobody had for long: freed ones come back when all others were used. 0 where
  /// there are none.
  uintptr_t allocate(std::size_t size);
  /// The bytes go back to the system, and read as zeros from then on.
  void free(uintptr_t begin);

  bool contains(uintptr_t address) const { return address >= begin_ && address - begin_ < extent_; }
  std::byte* view(uintptr_t address) const { return view_ + (address - begin_); }
  std::size_t offset(uintptr_t address) const { return address - begin_; }
  int file() const { return file_; }

 private:
  std::size_t extent_;
  int file_ = -1;
  uintptr_t begin_ = 0;
  std::byte* view_ = nullptr;
  uintptr_t next_ = 0;
  std::map<uintptr_t, std::size_t> used_;  // with the gap behind it
};

}  // namespace fake_cuda
