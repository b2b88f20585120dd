// Validation's copies of a call's outputs. The runtime writes to a copy first. The caller's output
// changes only if the call succeeded, and validation sees what the runtime wrote without
// permission.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend_template/layers/call.hpp"

namespace outback::layers {

/// The copy of one output.
class own_output {
 public:
  own_output() = default;
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

  const parameter* is_ = nullptr;
  void* target_ = nullptr;  // the caller's
  std::size_t size_ = 0;    // in bytes
  // The copy and some bytes behind it, then both as they were before the call.
  std::unique_ptr<std::byte[]> bytes_;
};

/// The copies of all outputs of one call. They are asked after the runtime returned.
class outputs {
 public:
  /// Makes a copy for each output of the call. Throws what `own_output` throws.
  explicit outputs(const any_call& call);
  outputs(const outputs&) = delete;
  outputs& operator=(const outputs&) = delete;
  ~outputs();

  /// Replaces `arg`, the argument number `i` from 0, by a pointer to its copy, if it is an output.
  template <class Arg>
  void replace(std::size_t i, Arg& arg) {
    if constexpr (points_to_value<Arg>) {
      if (places_[i] != nullptr) arg = static_cast<Arg>(places_[i]);
    }
  }

  const own_output* begin() const { return all_.data(); }
  const own_output* end() const { return all_.data() + count_; }

  /// Returns the name of an output that `written` holds for; null if there is none.
  const char* written() const;
  /// Returns the name of an output that `untouched` holds for; null if there is none.
  const char* untouched() const;
  /// Returns the name of an output that `overrun` holds for; null if there is none.
  const char* overrun() const;
  /// Gives all values to the caller.
  void commit() const;

 private:
  std::array<own_output, slot_facts::most_outputs> all_;
  std::size_t count_ = 0;
  std::array<void*, slot_facts::most_arguments> places_ = {};  // by argument; null: no output
};

}  // namespace outback::layers
