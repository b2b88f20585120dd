// Validation's copies of a call's outputs. The runtime writes to a copy first. The caller's output
// changes only if the call succeeded, and validation sees writes that the contract forbids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend_template/layers/call.hpp"

namespace outback::layers {

/// The copy of one output.
class own_output {
 public:
  /// `target` is the caller's output. Throws outback::invalid_argument, with the slot and the
  /// argument, if `target` is null or if it is a struct whose struct_size is not set.
  own_output(const char* slot, const parameter& p, void* target);

  const parameter& is() const { return *is_; }
  /// Returns the copy, which the runtime gets instead of the caller's output.
  void* place() { return bytes_.get(); }
  const void* place() const { return bytes_.get(); }

  /// Returns whether the runtime changed the copy, or bytes behind the copy.
  bool written() const;
  /// Returns whether the runtime changed nothing. Always false for a struct, because the caller's
  /// values in the struct may be right already.
  bool untouched() const;
  /// Returns whether the runtime wrote bytes behind the copy, or changed a struct_size.
  bool overrun() const;
  /// Copies the value to the caller's output.
  void commit() const;

 private:
  // Returns whether the call changed these bytes.
  bool differs(std::size_t begin, std::size_t size) const;

  const parameter* is_;
  void* target_;      // the caller's output
  std::size_t size_;  // in bytes
  // The copy and some bytes behind it, followed by a second copy of both from before the call.
  std::unique_ptr<std::byte[]> bytes_;
};

/// Makes a copy for each output of the call, in order. Throws the same as the constructor of
/// own_output. Query the copies after the runtime has returned.
std::vector<own_output> outputs_of(const any_call& call);

/// If `arg` is an output, replaces it by the pointer to its copy. Outputs are the last arguments of
/// a slot, and `from_end` is 1 for the last argument.
template <class Arg>
void replace_output(Arg& arg, std::vector<own_output>& own, std::size_t from_end) {
  if constexpr (points_to_value<Arg>) {
    if (from_end <= own.size()) arg = static_cast<Arg>(own[own.size() - from_end].place());
  }
}

}  // namespace outback::layers
