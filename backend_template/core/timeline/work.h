// One piece of work as a profile keeps it.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>

namespace outback::core {

enum class work : uint8_t {
  // On a stream.
  kernel,
  copy_to_device,
  copy_to_host,
  copy_within,   // one device
  copy_between,  // two devices
  fill,
  graph,        // all of a replay
  graph_range,  // the same, and its pieces are there too
  callback,
  other,            // of the driver's records
  kernel_in_place,  // the CPU computed on the device's memory, when the stream was idle
  // Between processes.
  collective,
  // Of the host alone.
  stream_wait,
  device_wait,
  event_wait,
  fallback  // an operator on the CPU, over copies
};

/// Of a wait that is for no one stream, and of a collective.
inline constexpr c10::StreamId no_stream = -1;

/// From here on: streams of the driver's that torch does not have, as the driver's records have
/// them.
inline constexpr c10::StreamId first_driver_stream = 500'000;

/// A range of record_function's that began within another one, by torch's numbers.
struct nested_range {
  uint64_t range, outer;
};

/// A plain value. Times are in nanoseconds since the epoch, on the host's clock.
struct recorded_work {
  work kind;
  c10::DeviceIndex device;
  c10::StreamId stream;
  uint64_t bytes;        // 0 where there is nothing to count
  const char* name;      // of a collective or, by the driver, of a kernel; else null
  uint64_t in_operator;  // torch's number of the operator or the range that it came from; 0: none
  uint64_t in_range;     // the innermost range of record_function's; 0: none
  int32_t thread;        // of the host, as the system counts it
  int64_t host_begin, host_end;      // of the call; 0 if this has none of its own
  int64_t device_begin, device_end;  // 0 if the device did not tell, or has no part in it
};

}  // namespace outback::core
