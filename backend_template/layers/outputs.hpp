// Validation's copies of a call's outputs. The runtime writes to a copy first. The caller's output
// changes only if the call succeeded, and validation sees what the runtime wrote without
// permission.
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
  /// argument, if it is null or if it is a struct without a struct_size.
  own_output(const char* slot, const parameter& p, void* target);

  const parameter& is() const { return *is_; }
  /// The copy, which the runtime gets instead of the caller's output.
  void* place() { return bytes_.get(); }
  const void* place() const { return bytes_.get(); }

  /// Returns whether the runtime changed the copy, or bytes behind it.
  bool written() const;
  /// Returns whether the runtime changed nothing. Always false for a struct: it may be right as the
  /// caller had it.
  bool untouched() const;
  /// Returns whether the runtime wrote bytes behind the copy, or changed a struct_size.
  bool overrun() const;
  /// Copies the value to the caller's output.
  void commit() const;

 private:
  // Whether these bytes differ from what they were before the call.
  bool differs(std::size_t begin, std::size_t size) const;

  const parameter* is_;
  void* target_;      // the caller's
  std::size_t size_;  // in bytes
  // The copy and some bytes behind it, then both as they were before the call.
  std::unique_ptr<std::byte[]> bytes_;
};

/// Makes a copy for each output of the call, in order. Throws what `own_output` throws. They are
/// asked after the runtime returned.
std::vector<own_output> outputs_of(const any_call& call);

/// Replaces `arg` by the pointer to its copy if it is an output: outputs are the last arguments of
/// a slot. `from_end` is 1 for the last one.
template <class Arg>
void replace_output(Arg& arg, std::vector<own_output>& own, std::size_t from_end) {
  if constexpr (points_to_value<Arg>) {
    if (from_end <= own.size()) arg = static_cast<Arg>(own[own.size() - from_end].place());
  }
}

}  // namespace outback::layers
