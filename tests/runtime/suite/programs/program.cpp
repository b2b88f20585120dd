#include "tests/runtime/suite/programs/program.hpp"

#include <sstream>

namespace outback::suite {
namespace {

std::string place_name(int32_t place) {
  if (place == in_pinned) return "pinned";
  if (place == in_pageable) return "pageable";
  return "device " + std::to_string(place);
}

std::string range(int32_t buffer, std::size_t offset, std::size_t size) {
  return "b" + std::to_string(buffer) + "[" + std::to_string(offset) + ", +" +
         std::to_string(size) + ")";
}

}  // namespace

std::string text_of(const operation& o) {
  const std::string on = " on s" + std::to_string(o.stream);
  const std::string s = "s" + std::to_string(o.stream), e = "e" + std::to_string(o.event),
                    b = "b" + std::to_string(o.buffer);
  const std::string target = range(o.buffer, o.offset, o.size);
  switch (o.what) {
    case action::stream_create:
      return s + " = stream_create(" + place_name(o.place) + ")";
    case action::stream_destroy:
      return "stream_destroy " + s;
    case action::stream_sync:
      return "stream_sync " + s;
    case action::stream_poll:
      return "stream_query " + s + " until it is ready";
    case action::stream_query:
      return "stream_query " + s;
    case action::event_create:
      return e + " = event_create(" + place_name(o.place) + ", flags " + std::to_string(o.value) +
             ")";
    case action::event_destroy:
      return "event_destroy " + e;
    case action::event_record:
      return "event_record " + e + on;
    case action::event_wait:
      return "event_wait " + e + on;
    case action::event_sync:
      return "event_sync " + e;
    case action::event_poll:
      return "event_query " + e + " until it is ready";
    case action::event_query:
      return "event_query " + e;
    case action::event_elapsed:
      return "event_elapsed e" + std::to_string(o.from) + " to " + e;
    case action::device_sync:
      return "device_sync " + place_name(o.place);
    case action::alloc:
      return b + " = alloc(" + place_name(o.place) + ", " + std::to_string(o.size) + " bytes)";
    case action::free:
      return "free " + b;
    case action::fill:
      return "fill " + target + " by " + std::to_string(o.width) + on;
    case action::copy:
      return "copy " + range(o.from, o.from_offset, o.size) + " to " + target + on;
    case action::callback:
      return "callback that writes " + target + on;
    case action::host_write:
      return "the CPU writes " + target;
    case action::host_check:
      return "the CPU reads " + target;
    case action::read_back:
      return "copy " + target + " to the host" + on + ", sync, and read";
  }
  return "?";
}

std::string text_of(const program& p) {
  std::ostringstream out;
  for (std::size_t i = 0; i < p.operations.size(); ++i) {
    out << "  " << i << ": " << text_of(p.operations[i]) << "\n";
  }
  return out.str();
}

}  // namespace outback::suite
