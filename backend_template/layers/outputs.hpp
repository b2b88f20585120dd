// Outputs of a call that the runtime writes to a place of ours first: the caller's change only when
// the call succeeded, and what was written without right shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend_template/layers/slots.hpp"
#include "backend_template/layers/text.hpp"
#include "outback/runtime_error.hpp"

namespace outback::layers {

constexpr bool is_output(role r) {
  return r == role::output || r == role::makes;
}

/// Throws unless `size`, a caller's struct_size, may be one.
inline void check_struct_size(const char* slot, const char* argument, uint32_t size) {
  constexpr uint32_t most = 1u << 16;  // no struct of any version; what was not set is often more
  if (size >= sizeof(uint32_t) && size <= most) return;
  throw invalid_argument("validation: " + std::string(slot) + ": " + argument +
                         "->struct_size is " + std::to_string(size) +
                         ": expected the size of the caller's struct");
}

/// What is no output goes through.
template <class Arg, bool Output>
class passed {
 public:
  passed(const char*, argument, Arg arg) : arg_(arg) {}
  Arg pass() { return arg_; }
  bool written() const { return false; }
  void commit() const {}

 private:
  Arg arg_;
};

/// One value.
template <class T>
class passed<T*, true> {
 public:
  passed(const char* slot, argument a, T* target) : target_(target) {
    if (target == nullptr) {
      throw invalid_argument("validation: " + std::string(slot) + ": " + a.name +
                             " is null: expected a place for the result");
    }
    if constexpr (has_size) {
      check_struct_size(slot, a.name, target->struct_size);
      const auto* bytes = reinterpret_cast<const std::byte*>(target);
      // The caller's content: an older runtime leaves what it does not know.
      before_.assign(bytes, bytes + target->struct_size);
    } else {
      before_.resize(sizeof(T), std::byte{0xa5});
    }
    before_.resize(before_.size() + beyond, std::byte{0xa5});
    now_ = before_;
  }

  T* pass() { return reinterpret_cast<T*>(now_.data()); }
  bool written() const { return now_ != before_; }
  T& value() { return *pass(); }
  /// Bytes after the end changed, or the size.
  bool overrun() const {
    const std::size_t end = now_.size() - beyond;
    return std::memcmp(now_.data() + end, before_.data() + end, beyond) != 0 ||
           (has_size && std::memcmp(now_.data(), before_.data(), sizeof(uint32_t)) != 0);
  }
  void commit() const { std::memcpy(target_, now_.data(), now_.size() - beyond); }

 private:
  static constexpr bool has_size = requires(T& t) { t.struct_size; };
  static constexpr std::size_t beyond = 64;

  T* const target_;
  std::vector<std::byte> before_, now_;
};

/// The outputs of one call of `Slot`.
template <class Slot, class... Args>
class outputs {
 public:
  /// Throws outback::invalid_argument if one is null or has no struct_size.
  explicit outputs(Args... args) : outputs(std::index_sequence_for<Args...>(), args...) {}

  /// `body` gets the arguments, with our outputs in place of the caller's.
  template <class Body>
  outback_status call(Body&& body) {
    return std::apply([&](auto&... each) { return body(each.pass()...); }, all_);
  }

  /// The name of an output that has been written; null if none.
  const char* written() const {
    return first([](const auto& each) { return each.written(); });
  }
  /// The name of an output that was written beyond its end.
  const char* overrun() const {
    return first([](const auto& each) {
      if constexpr (requires { each.overrun(); }) return each.overrun();
      return false;
    });
  }

  /// `visit(argument, value&)` for each output.
  template <class Visit>
  void for_each(Visit&& visit) {
    std::size_t i = 0;
    const auto one = [&](auto& each) {
      const argument a = Slot::arguments[i++];
      if constexpr (requires { each.value(); }) visit(a, each.value());
    };
    std::apply([&](auto&... each) { (one(each), ...); }, all_);
  }

  /// The output that is argument number I, from 0.
  template <std::size_t I>
  auto& get() {
    return std::get<I>(all_).value();
  }

  /// The caller's get the values.
  void commit() const {
    std::apply([](const auto&... each) { (each.commit(), ...); }, all_);
  }

 private:
  template <std::size_t... I>
  outputs(std::index_sequence<I...>, Args... args)
      : all_{passed<Args, is_output(Slot::arguments[I].is)>(Slot::name, Slot::arguments[I],
                                                            args)...} {}

  template <class Holds>
  const char* first(Holds&& holds) const {
    std::size_t i = 0;
    const char* name = nullptr;
    const auto one = [&](const auto& each) {
      const char* own = Slot::arguments[i++].name;
      if (name == nullptr && holds(each)) name = own;
    };
    std::apply([&](const auto&... each) { (one(each), ...); }, all_);
    return name;
  }

  template <class Indices>
  struct tuple_of;
  template <std::size_t... I>
  struct tuple_of<std::index_sequence<I...>> {
    using type = std::tuple<passed<Args, is_output(Slot::arguments[I].is)>...>;
  };
  typename tuple_of<std::index_sequence_for<Args...>>::type all_;
};

}  // namespace outback::layers
