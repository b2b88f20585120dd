// A shared object that is loaded from bytes in memory.
#pragma once

#include <cstddef>

namespace outback::host {

/// Unloads the code in its destructor. May be used from any thread.
class shared_object {
 public:
  /// Loads a copy of the bytes. Throws outback::invalid_argument if they are not a whole ELF shared
  /// object for this processor or if the system's loader refuses them, and outback::runtime_error
  /// if the system has no place for the copy.
  shared_object(const void* bytes, std::size_t size);
  ~shared_object();
  shared_object(const shared_object&) = delete;
  shared_object& operator=(const shared_object&) = delete;

  /// Returns the address of an exported symbol; null if there is no such symbol.
  void* find(const char* symbol) const noexcept;

 private:
  // Stays open as long as the system has the code: the loader takes two files with one path for the
  // same file, and this descriptor's number is in the path.
  int file_ = -1;
  void* handle_ = nullptr;
};

}  // namespace outback::host
