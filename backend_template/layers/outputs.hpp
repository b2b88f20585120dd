// Outputs of a call that the runtime writes to a place of ours first: the caller's change only when
// the call succeeded, and what was written without right shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend_template/layers/call.hpp"

namespace outback::layers {

/// One of them.
class own_output {
 public:
  own_output() = default;
  /// Throws outback::invalid_argument if it is null or has no struct_size.
  own_output(const char* slot, const parameter& p, void* target);

  const parameter& is() const { return *is_; }
  /// Ours.
  void* place() { return bytes_.get(); }
  const void* place() const { return bytes_.get(); }

  bool written() const;
  /// Nothing in it changed. Not known of a struct, which may be right as the caller had it.
  bool untouched() const;
  /// Bytes after the end changed, or the size.
  bool overrun() const;
  void commit() const;

 private:
  bool differs(std::size_t begin, std::size_t size) const;

  const parameter* is_ = nullptr;
  void* target_ = nullptr;  // the caller's
  std::size_t size_ = 0;
  std::unique_ptr<std::byte[]> bytes_;  // ours, some beyond it, then both as they were before
};

/// The outputs of one call.
class outputs {
 public:
  /// Throws as `own_output`.
  explicit outputs(const any_call& call);
  outputs(const outputs&) = delete;
  outputs& operator=(const outputs&) = delete;
  ~outputs();

  /// Argument number `i`, from 0, becomes our place if it is an output.
  template <class Arg>
  void replace(std::size_t i, Arg& arg) {
    if constexpr (points_to_value<Arg>) {
      if (places_[i] != nullptr) arg = static_cast<Arg>(places_[i]);
    }
  }

  const own_output* begin() const { return all_.data(); }
  const own_output* end() const { return all_.data() + count_; }

  /// The name of an output that has been written; null if none.
  const char* written() const;
  /// The name of an output that was left as it was; null if none.
  const char* untouched() const;
  /// The name of an output that was written beyond its end.
  const char* overrun() const;
  /// The caller's get the values.
  void commit() const;

 private:
  std::array<own_output, slot_facts::most_outputs> all_;
  std::size_t count_ = 0;
  std::array<void*, slot_facts::most_arguments> places_ = {};
};

}  // namespace outback::layers
