// A stream program: what one host thread asks of a runtime, as data. So it can be checked,
// predicted, run, cut down and printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outback::suite {

/// Where a buffer lies: a device index, or one of these.
enum : int32_t { in_pinned = -1, in_pageable = -2 };

enum class action : uint8_t {
  stream_create,
  stream_destroy,
  stream_sync,
  stream_poll,   // asks until it is ready
  stream_query,  // asks once
  event_create,
  event_destroy,
  event_record,
  event_wait,
  event_sync,
  event_poll,
  event_query,
  event_elapsed,
  device_sync,
  alloc,
  free,
  fill,
  copy,        // not between two buffers of the host
  callback,    // writes to a buffer of the host, from a callback
  host_write,  // the CPU writes to a buffer of the host
  host_check,  // the CPU compares a buffer of the host with the prediction
  read_back    // copies device memory to pageable memory, waits for the stream, compares
};

/// One call, or a few that belong together. What it does not need is 0.
///
/// Streams, events and buffers are numbers that the program chose and never gives twice, so a part
/// of a program means the same as it did in the whole. Streams 0 to devices - 1 are the default
/// ones, which are there from the start.
struct operation {
  action what = action::device_sync;
  int32_t place = 0;  // of device_sync and whatever creates: a device, or in_pinned, in_pageable
  int32_t stream = 0;
  int32_t event = 0;
  int32_t from = 0;    // a buffer that is copied from; the other event of event_elapsed
  int32_t buffer = 0;  // what is written, compared, allocated or freed
  std::size_t offset = 0, from_offset = 0;
  std::size_t size = 0;
  std::size_t width = 1;  // of a fill's pattern
  uint64_t value = 0;     // the pattern, the noise's seed, the event's flags
};

/// What there is to make programs of.
struct machine {
  int32_t devices = 1;
  bool streams = false;  // created ones; the default ones are always there
  bool events = false;
  bool pinned = false;
  bool callbacks = false;
  bool alone = true;  // no other program uses the default streams meanwhile
  std::size_t largest = std::size_t{1} << 20;  // bytes of a buffer
};

struct program {
  uint64_t seed = 0;
  machine on;
  std::vector<operation> operations;
};

std::string text_of(const operation& o);
/// A line for each operation.
std::string text_of(const program& p);

/// Numbers that follow from their seed alone, on every system.
class random {
 public:
  explicit random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) {}
  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 to count - 1.
  std::size_t below(std::size_t count) { return std::size_t(next() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  uint64_t state_;
};

}  // namespace outback::suite
