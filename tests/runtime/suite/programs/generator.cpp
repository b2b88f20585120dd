#include "tests/runtime/suite/programs/generator.hpp"

#include <algorithm>
#include <utility>

#include "outback/runtime.h"
#include "tests/runtime/suite/programs/order.hpp"

namespace outback::suite {
namespace {

class generator {
 public:
  generator(uint64_t seed, const machine& on) : random_(seed), order_(on) {
    program_.seed = seed;
    program_.on = on;
  }

  program run() {
    begin();
    for (std::size_t left = 10 + random_.below(50); left != 0; --left) step();
    end();
    return std::move(program_);
  }

 private:
  const machine& on() const { return program_.on; }

  // ---- Choices

  int32_t any_device() { return int32_t(random_.below(std::size_t(on().devices))); }

  template <class State, class Predicate>
  int32_t pick(const std::vector<State>& all, const Predicate& fits) {
    std::vector<int32_t> found;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].alive && fits(all[i])) found.push_back(int32_t(i));
    }
    return found.empty() ? -1 : found[random_.below(found.size())];
  }
  int32_t stream_of(int32_t device) {
    return pick(order_.streams(), [&](const auto& s) { return s.device == device; });
  }
  int32_t any_stream() {
    return pick(order_.streams(), [](const auto&) { return true; });
  }
  int32_t any_event() {
    return pick(order_.events(), [](const auto&) { return true; });
  }
  int32_t event_of(int32_t device) {
    return pick(order_.events(), [&](const auto& e) { return e.device == device; });
  }
  // Those that were just used are the ones that a runtime can get wrong.
  template <class Predicate>
  int32_t any_buffer(const Predicate& fits) {
    if (!random_.one_in(3)) {
      for (const int32_t b : {last_, last_but_one_}) {
        if (b >= 0 && buffer(b).alive && fits(buffer(b)) && !random_.one_in(3)) return b;
      }
    }
    return pick(order_.buffers(), fits);
  }
  const order::buffer_state& buffer(int32_t number) const {
    return order_.buffers()[std::size_t(number)];
  }

  std::size_t any_size() {
    if (random_.one_in(3)) return on().largest / 4 + random_.below(on().largest * 3 / 4);
    return 1 + random_.below(random_.one_in(2) ? 100 : 5000);
  }

  // A range of `whole` bytes in which both begin and size are multiples of `step`, if there is one.
  std::pair<std::size_t, std::size_t> any_range(std::size_t whole, std::size_t step = 1) {
    const std::size_t places = whole / step;
    if (places == 0) return {0, 0};
    if (!random_.one_in(3)) return {0, places * step};
    const std::size_t first = random_.below(places);
    return {first * step, (1 + random_.below(places - first)) * step};
  }

  // ---- Adding

  void apply(const operation& o) {
    order_.apply(o);
    program_.operations.push_back(o);
  }

  // Adds `o`, after what it has to wait for. Leaves it sometimes, and where it makes no sense.
  bool add(const operation& o, bool always = false) {
    if (!order_.possible(o)) return false;
    auto races = order_.races(o);
    if (!races.empty() && !always && random_.one_in(4)) return false;
    for (; !races.empty(); races = order_.races(o)) order_after(races.front(), o);
    apply(o);
    if (o.size != 0 && o.buffer != last_) last_but_one_ = std::exchange(last_, o.buffer);
    return true;
  }

  // Makes `o` come after all that stream `t` has been given.
  void order_after(int32_t t, const operation& o) {
    const order::stream_state& other = order_.streams()[std::size_t(t)];
    const bool event = on().events && other.alive;
    // A copy from pageable memory may need the host to know, which a wait does not tell it.
    const bool stream = order::enqueues(o.what) && o.stream != t && !random_.one_in(4);
    if (event && stream) {
      const int32_t e = recorded_on(t);
      apply({.what = action::event_wait, .stream = o.stream, .event = e});
      const auto left = order_.races(o);
      if (std::find(left.begin(), left.end(), t) == left.end()) return;
    }
    tell_host(t);
  }

  void tell_host(int32_t t) {
    const order::stream_state& other = order_.streams()[std::size_t(t)];
    const std::size_t way = other.alive && on().streams ? random_.below(on().events ? 5 : 3) : 0;
    if (way == 0) return apply({.what = action::device_sync, .place = other.device});
    if (way == 1) return apply({.what = action::stream_sync, .stream = t});
    if (way == 2) return apply({.what = action::stream_poll, .stream = t});
    const int32_t e = recorded_on(t);
    apply({.what = way == 3 ? action::event_sync : action::event_poll, .event = e});
  }

  int32_t recorded_on(int32_t t) {
    const int32_t device = order_.streams()[std::size_t(t)].device;
    int32_t e = event_of(device);
    if (e < 0 || random_.one_in(8)) e = new_event(device);
    apply({.what = action::event_record, .stream = t, .event = e});
    return e;
  }

  int32_t new_event(int32_t device) {
    constexpr uint64_t flags[] = {0, OUTBACK_EVENT_TIMING, OUTBACK_EVENT_BLOCKING};
    const auto number = int32_t(order_.events().size());
    apply({.what = action::event_create,
           .place = device,
           .event = number,
           .value = flags[random_.below(3)]});
    return number;
  }

  void new_stream(int32_t device) {
    apply({.what = action::stream_create,
           .place = device,
           .stream = int32_t(order_.streams().size())});
  }

  void new_buffer(int32_t place) {
    const auto number = int32_t(order_.buffers().size());
    const std::size_t size = any_size();
    apply({.what = action::alloc, .place = place, .buffer = number, .size = size});
    const operation whole = {.buffer = number, .size = size, .value = random_.next()};
    operation first = whole;
    first.what = place >= 0 ? action::fill : action::host_write;
    if (place >= 0) first.stream = stream_of(place);
    add(first, true);
  }

  int32_t any_host_place() {
    return on().pinned && random_.one_in(2) ? int32_t{in_pinned} : int32_t{in_pageable};
  }

  // ---- The parts of a program

  void begin() {
    for (int32_t d = 0; d < on().devices; ++d) {
      for (std::size_t n = on().streams ? random_.below(4) : 0; n != 0; --n) new_stream(d);
    }
    for (int32_t d = 0; d < on().devices; ++d) {
      for (std::size_t n = 1 + random_.below(2); n != 0; --n) new_buffer(d);
    }
    for (std::size_t n = 1 + random_.below(2); n != 0; --n) new_buffer(any_host_place());
  }

  void end() {
    if (random_.one_in(2)) {
      for (int32_t d = 0; d < on().devices; ++d) apply({.what = action::device_sync, .place = d});
    }
    for (std::size_t i = 0; i < order_.buffers().size(); ++i) {
      if (buffer(int32_t(i)).alive) read(int32_t(i));
    }
  }

  void read(int32_t number) {
    const order::buffer_state& b = buffer(number);
    operation o = {.what = b.place < 0 ? action::host_check : action::read_back,
                   .buffer = number,
                   .size = b.size};
    if (b.place >= 0) o.stream = stream_of(b.place);
    add(o, true);
  }

  void step() {
    const std::size_t kind = random_.below(100);
    if (kind < 25) return fill();
    if (kind < 60) return copy();
    if (kind < 70) return host_access();
    if (kind < 76) return callback();
    if (kind < 86) return event();
    if (kind < 93) return stream();
    if (kind < 98) return memory();
    add({.what = action::device_sync, .place = any_device()});
  }

  void fill() {
    const int32_t b = any_buffer([](const auto& state) { return state.place >= 0; });
    if (b < 0) return;
    const std::size_t width = std::size_t{1} << random_.below(4);
    const auto [offset, size] = any_range(buffer(b).size, width);
    add({.what = action::fill,
         .stream = stream_of(buffer(b).place),
         .buffer = b,
         .offset = offset,
         .size = size,
         .width = width,
         .value = random_.next()});
  }

  void copy() {
    const int32_t from = any_buffer([](const auto& state) { return state.written; });
    if (from < 0) return;
    const bool from_host = buffer(from).place < 0;
    const int32_t to =
        any_buffer([&](const auto& state) { return !from_host || state.place >= 0; });
    if (to < 0) return;
    const std::size_t shared = std::min(buffer(from).size, buffer(to).size);
    auto [offset, size] = any_range(shared);
    std::size_t from_offset = random_.below(buffer(from).size - size + 1);
    if (from == to) {  // the two halves, so that they do not overlap
      size = shared / 2;
      from_offset = random_.one_in(2) ? 0 : size;
      offset = size - from_offset;
    }
    const int32_t device = from_host ? buffer(to).place : buffer(from).place;
    add({.what = action::copy,
         .stream = stream_of(device),
         .from = from,
         .buffer = to,
         .offset = offset,
         .from_offset = from_offset,
         .size = size});
    // What a runtime may not look at any more, or has to.
    if (from_host && random_.one_in(2)) write_to(from);
  }

  void write_to(int32_t b) {
    const auto [offset, size] = any_range(buffer(b).size);
    add({.what = action::host_write,
         .buffer = b,
         .offset = offset,
         .size = size,
         .value = random_.next()});
  }

  void host_access() {
    const int32_t b = any_buffer([](const auto& state) { return state.place < 0; });
    if (b < 0) return;
    if (random_.one_in(2)) return read(b);
    write_to(b);
  }

  void callback() {
    const int32_t b = any_buffer([](const auto& state) { return state.place < 0; });
    if (b < 0) return;
    const auto [offset, size] = any_range(buffer(b).size);
    add({.what = action::callback,
         .stream = any_stream(),
         .buffer = b,
         .offset = offset,
         .size = size,
         .value = random_.next()});
  }

  void event() {
    if (!on().events) return;
    const int32_t e = any_event();
    if (e < 0 || random_.one_in(6)) return static_cast<void>(new_event(any_device()));
    switch (random_.below(8)) {
      case 0:
      case 1:
        add({.what = action::event_record,
             .stream = stream_of(order_.events()[std::size_t(e)].device),
             .event = e});
        break;
      case 2:
      case 3:
        add({.what = action::event_wait, .stream = any_stream(), .event = e});
        break;
      case 4:
        add({.what = random_.one_in(2) ? action::event_sync : action::event_poll, .event = e});
        break;
      case 5:
        add({.what = action::event_query, .event = e});
        break;
      case 6:
        add({.what = action::event_elapsed, .event = e, .from = any_event()});
        break;
      default:
        add({.what = action::event_destroy, .event = e});
    }
  }

  void stream() {
    if (!on().streams) return;
    const int32_t s = any_stream();
    switch (random_.below(6)) {
      case 0:
        return new_stream(any_device());
      case 1:
        add({.what = action::stream_destroy, .stream = s});
        break;
      case 2:
        add({.what = action::stream_sync, .stream = s});
        break;
      case 3:
        add({.what = action::stream_poll, .stream = s});
        break;
      default:
        add({.what = action::stream_query, .stream = s});
    }
  }

  void memory() {
    if (random_.one_in(2)) {
      const int32_t place = random_.one_in(2) ? any_device() : any_host_place();
      return new_buffer(place);
    }
    const int32_t b = pick(order_.buffers(), [](const auto&) { return true; });
    if (b >= 0) add({.what = action::free, .buffer = b});
  }

  random random_;
  order order_;
  program program_;
  int32_t last_ = -1, last_but_one_ = -1;
};

}  // namespace

program generate(uint64_t seed, const machine& on) {
  return generator(seed, on).run();
}

}  // namespace outback::suite
