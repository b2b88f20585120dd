// One piece of work in a profile.
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
  graph,        // a whole replay
  graph_range,  // a whole replay whose pieces are recorded too
  callback,
  other,            // other work in the driver's records
  kernel_in_place,  // the CPU computed on the device's memory while the stream was idle
  // Between processes.
  collective,
  // On the host only.
  stream_wait,
  device_wait,
  event_wait,
  fallback  // an operator on the CPU, over copies
};

/// The stream of a collective, and of a wait that is not for a single stream.
inline constexpr c10::StreamId no_stream = -1;

/// Ids from here on mean streams in the driver's records that torch does not have.
inline constexpr c10::StreamId first_driver_stream = 500'000;

/// A range of record_function that began within another range, with torch's numbers for both.
struct nested_range {
  uint64_t range, outer;
};

/// One piece of work. A plain value. Times are in nanoseconds since the epoch, on the host's clock.
struct recorded_work {
  work kind;
  c10::DeviceIndex device;
  c10::StreamId stream;
  uint64_t bytes;        // 0 if the work has no size
  const char* name;      // of a collective, or of a kernel in the driver's records; else null
  uint64_t in_operator;  // torch's number of the operator or range that enqueued it; 0: none
  uint64_t in_range;     // the innermost range of record_function; 0: none
  int32_t thread;        // the system's id of the host thread
  int64_t host_begin, host_end;      // of the host's call; 0 if the work has no call of its own
  int64_t device_begin, device_end;  // 0 if the device did not tell, or did not take part
};

}  // namespace outback::core
