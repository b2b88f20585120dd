#include "tests/runtime/suite/programs/order.hpp"

#include <algorithm>

#include "outback/runtime.h"

namespace outback::suite {
namespace {

using clock = order::clock;

uint32_t at(const clock& c, int32_t stream) {
  return std::size_t(stream) < c.size() ? c[std::size_t(stream)] : 0;
}

void join(clock& into, const clock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

bool within(const clock& part, const clock& whole) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] > at(whole, int32_t(i))) return false;
  }
  return true;
}

template <class State>
State& made(std::vector<State>& all, int32_t number) {
  if (all.size() <= std::size_t(number)) all.resize(std::size_t(number) + 1);
  return all[std::size_t(number)];
}

template <class State>
bool alive(const std::vector<State>& all, int32_t number) {
  return number >= 0 && std::size_t(number) < all.size() && all[std::size_t(number)].alive;
}

}  // namespace

order::order(const machine& on) : on_(on) {
  for (int32_t d = 0; d < on.devices; ++d) {
    stream_state& s = made(streams_, d);
    s.device = d;
    s.alive = true;
  }
}

bool order::enqueues(action what) {
  switch (what) {
    case action::event_record:
    case action::event_wait:
    case action::fill:
    case action::copy:
    case action::callback:
    case action::read_back:
      return true;
    default:
      return false;
  }
}

bool order::has_stream(int32_t stream) const {
  return alive(streams_, stream);
}
bool order::has_event(int32_t event) const {
  return on_.events && alive(events_, event);
}
bool order::has_range(int32_t buffer, std::size_t offset, std::size_t size) const {
  if (!alive(buffers_, buffer) || size == 0) return false;
  const std::size_t whole = buffers_[std::size_t(buffer)].size;
  return offset <= whole && size <= whole - offset;
}

bool order::may_copy(const operation& o) const {
  if (!has_range(o.from, o.from_offset, o.size) || !has_range(o.buffer, o.offset, o.size)) {
    return false;
  }
  const buffer_state &from = buffers_[std::size_t(o.from)], &to = buffers_[std::size_t(o.buffer)];
  if (from.place < 0 && to.place < 0) return false;
  if (o.from == o.buffer && o.offset < o.from_offset + o.size &&
      o.from_offset < o.offset + o.size) {
    return false;
  }
  const int32_t device = from.place >= 0 ? from.place : to.place;
  return from.written && has_stream(o.stream) && streams_[std::size_t(o.stream)].device == device;
}

bool order::possible(const operation& o) const {
  const auto is_new = [&](const auto& all, int32_t number) {
    return number >= 0 && (std::size_t(number) >= all.size() || !all[std::size_t(number)].alive);
  };
  const auto is_device = [&](int32_t place) { return place >= 0 && place < on_.devices; };
  switch (o.what) {
    case action::stream_create:
      return on_.streams && is_device(o.place) && is_new(streams_, o.stream);
    case action::stream_destroy:
      return o.stream >= on_.devices && has_stream(o.stream);
    case action::stream_sync:
    case action::stream_poll:
    case action::stream_query:
      return on_.streams && has_stream(o.stream);
    case action::event_create:
      return on_.events && is_device(o.place) && is_new(events_, o.event);
    case action::event_destroy:
    case action::event_sync:
    case action::event_poll:
    case action::event_query:
      return has_event(o.event);
    case action::event_record:
      return has_event(o.event) && has_stream(o.stream) &&
             events_[std::size_t(o.event)].device == streams_[std::size_t(o.stream)].device;
    case action::event_wait:
      return has_event(o.event) && has_stream(o.stream);
    case action::event_elapsed: {
      if (!has_event(o.event) || !has_event(o.from)) return false;
      const event_state &a = events_[std::size_t(o.from)], &b = events_[std::size_t(o.event)];
      return a.timed && b.timed && a.recorded && b.recorded && a.device == b.device &&
             host_knows(a.seen) && host_knows(b.seen);
    }
    case action::device_sync:
      return is_device(o.place);
    case action::alloc:
      return o.size > 0 && is_new(buffers_, o.buffer) &&
             (is_device(o.place) || o.place == in_pageable || (o.place == in_pinned && on_.pinned));
    case action::free:
      return alive(buffers_, o.buffer);
    case action::fill:
      return has_range(o.buffer, o.offset, o.size) && has_stream(o.stream) &&
             o.size % o.width == 0 && o.offset % o.width == 0 &&
             buffers_[std::size_t(o.buffer)].place == streams_[std::size_t(o.stream)].device;
    case action::copy:
      return may_copy(o);
    case action::callback:
      return on_.callbacks && has_range(o.buffer, o.offset, o.size) && has_stream(o.stream) &&
             buffers_[std::size_t(o.buffer)].place < 0;
    case action::host_write:
      return has_range(o.buffer, o.offset, o.size) && buffers_[std::size_t(o.buffer)].place < 0;
    case action::host_check:
      return has_range(o.buffer, o.offset, o.size) && buffers_[std::size_t(o.buffer)].place < 0 &&
             buffers_[std::size_t(o.buffer)].written;
    case action::read_back:
      return has_range(o.buffer, o.offset, o.size) && has_stream(o.stream) &&
             buffers_[std::size_t(o.buffer)].written &&
             buffers_[std::size_t(o.buffer)].place == streams_[std::size_t(o.stream)].device;
  }
  return false;
}

std::vector<order::use> order::uses(const operation& o) const {
  const use target = {o.buffer, o.offset, o.offset + o.size, true, false};
  switch (o.what) {
    case action::fill:
    case action::callback:
      return {target};
    case action::copy: {
      // A pageable source is read before the call returns, perhaps before the stream gets there.
      const bool by_host = buffers_[std::size_t(o.from)].place == in_pageable;
      return {{o.from, o.from_offset, o.from_offset + o.size, false, by_host}, target};
    }
    case action::read_back:
      return {{o.buffer, o.offset, o.offset + o.size, false, false}};
    case action::host_write:
      return {{o.buffer, o.offset, o.offset + o.size, true, true}};
    case action::host_check:
      return {{o.buffer, o.offset, o.offset + o.size, false, true}};
    case action::free:
      return {{o.buffer, 0, buffers_[std::size_t(o.buffer)].size, true, true}};
    default:
      return {};
  }
}

std::vector<int32_t> order::races(const operation& o) const {
  std::vector<int32_t> found;
  for (const use& u : uses(o)) {
    for (const access& before : buffers_[std::size_t(u.buffer)].accesses) {
      if (before.end <= u.begin || u.end <= before.begin || !(before.writes || u.writes)) continue;
      const bool ordered =
          at(host_, before.stream) >= before.index ||
          (!u.by_host && at(streams_[std::size_t(o.stream)].seen, before.stream) >= before.index);
      if (!ordered && std::find(found.begin(), found.end(), before.stream) == found.end()) {
        found.push_back(before.stream);
      }
    }
  }
  return found;
}

bool order::host_knows(const clock& seen) const {
  return within(seen, host_);
}

void order::host_learns(const clock& seen) {
  join(host_, seen);
}

void order::apply(const operation& o) {
  if (enqueues(o.what)) {
    stream_state& s = streams_[std::size_t(o.stream)];
    s.drained = false;
    join(s.seen, host_);  // what the host knows to be done comes before what it asks for next
    if (s.seen.size() <= std::size_t(o.stream)) s.seen.resize(std::size_t(o.stream) + 1);
    ++s.seen[std::size_t(o.stream)];
  }
  for (const use& u : uses(o)) {
    buffer_state& b = buffers_[std::size_t(u.buffer)];
    std::erase_if(b.accesses, [&](const access& a) { return at(host_, a.stream) >= a.index; });
    if (u.writes && u.begin == 0 && u.end == b.size) b.written = true;
    if (u.by_host) continue;  // whatever comes next comes after it
    const uint32_t index = at(streams_[std::size_t(o.stream)].seen, o.stream);
    b.accesses.push_back({o.stream, index, u.begin, u.end, u.writes});
  }
  switch (o.what) {
    case action::stream_create: {
      stream_state& s = made(streams_, o.stream);
      s = {};
      s.device = o.place;
      s.alive = true;
      break;
    }
    case action::stream_destroy:
      streams_[std::size_t(o.stream)].alive = false;
      break;
    case action::stream_sync:
    case action::stream_poll:
    case action::read_back:
      host_learns(streams_[std::size_t(o.stream)].seen);
      streams_[std::size_t(o.stream)].drained = true;
      break;
    case action::event_create: {
      event_state& e = made(events_, o.event);
      e = {};
      e.device = o.place;
      e.alive = true;
      e.timed = (o.value & OUTBACK_EVENT_TIMING) != 0;
      break;
    }
    case action::event_destroy:
      events_[std::size_t(o.event)].alive = false;
      break;
    case action::event_record:
      events_[std::size_t(o.event)].recorded = true;
      events_[std::size_t(o.event)].seen = streams_[std::size_t(o.stream)].seen;
      break;
    case action::event_wait:
      join(streams_[std::size_t(o.stream)].seen, events_[std::size_t(o.event)].seen);
      break;
    case action::event_sync:
    case action::event_poll:
      host_learns(events_[std::size_t(o.event)].seen);
      break;
    case action::device_sync:
      for (stream_state& s : streams_) {
        if (s.device != o.place) continue;
        host_learns(s.seen);
        s.drained = true;
      }
      break;
    case action::alloc: {
      buffer_state& b = made(buffers_, o.buffer);
      b = {};
      b.place = o.place;
      b.size = o.size;
      b.alive = true;
      break;
    }
    case action::free:
      buffers_[std::size_t(o.buffer)].alive = false;
      break;
    default:
      break;
  }
}

bool order::surely_ready(const operation& query) const {
  if (query.what == action::event_query) {
    return host_knows(events_[std::size_t(query.event)].seen);  // of nothing before a recording
  }
  // Not as soon as the host knows all work of the stream from an event behind it: the contract does
  // not say that the stream is no longer busy with that event.
  const bool own = query.stream >= on_.devices || on_.alone;
  return own && streams_[std::size_t(query.stream)].drained;
}

bool order::surely_forward(const operation& elapsed) const {
  return within(events_[std::size_t(elapsed.from)].seen, events_[std::size_t(elapsed.event)].seen);
}

}  // namespace outback::suite
