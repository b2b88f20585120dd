// Kernels that a program has registered, and what may be asked of one. Guarded by the machine's
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/fakes/cudart/cuda_api.hpp"

namespace fake_cuda {

/// Where a kernel finds one of its parameters, in bytes.
struct parameter {
  std::size_t offset, size;
};

/// One after another, each aligned to the largest power of two that divides its size, 16 at most.
std::vector<parameter> place_parameters(const std::vector<std::size_t>& sizes);

struct kernel_shape {
  dim3 grid, block;
  std::size_t shared = 0;  // bytes of dynamic shared memory of a block
};

/// What a kernel does, on the host: its parameters lie where a device would find them, each where
/// `parameters` says, with addresses that the host can use.
/// Answers the error that loses the device, or cudaSuccess.
using kernel_body = std::function<cudaError_t(const kernel_shape&, std::byte* parameters)>;

struct kernel {
  const void* host = nullptr;        // the function that stands for it in the program
  std::string symbol;                // as the linker knows it
  const void* fat_binary = nullptr;  // that has its code; null: it was made known by a test
  int dynamic_shared = 49152;        // bytes that a launch may ask for
  unsigned max_threads = 0;          // of a block; 0: as many as the device has
  kernel_body body;                  // null: it computes nothing
  std::weak_ptr<void> uses;          // of its module, which the program loaded while it ran
  bool unloaded = false;             // with its module
  /// As a person reads it.
  const std::string& name() const;
  /// In their order; nothing where it cannot be known.
  const std::optional<std::vector<parameter>>& parameters() const;
  void set_parameters(std::vector<parameter> given);

 private:
  mutable std::string name_;
  mutable bool asked_ = false;
  mutable std::optional<std::vector<parameter>> parameters_;
};

/// Those of libraries that were unloaded stay, since work may still name them.
class kernel_table {
 public:
  /// A new one at that address, in place of any that was there.
  kernel& add(const void* host);
  /// Null where there is none.
  kernel* find(const void* host) const;
  std::size_t size() const { return kernels_.size(); }

 private:
  std::unordered_map<const void*, kernel*> kernels_;
};

}  // namespace fake_cuda
