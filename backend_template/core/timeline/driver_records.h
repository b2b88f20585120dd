// The driver's own records of a device's work (the group activity of outback/runtime.h): for the
// files of timeline/ alone. recorder.cpp starts and reads them; `join` puts them together with the
// calls that enqueued the work.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "backend_template/core/timeline/timeline.h"
#include "backend_template/core/timeline/work.h"
#include "outback/runtime.h"

namespace outback::core {

/// The driver's clock and the host's, known of two moments. Between the two they may drift apart.
class driver_clock {
 public:
  /// Looks at both clocks. False if the driver does not tell.
  bool start(c10::DeviceIndex device) noexcept;
  /// Looks again, at the end.
  void finish(c10::DeviceIndex device) noexcept;
  /// Returns the time of a record on the host's clock. After `finish`.
  int64_t on_host(int64_t of_driver) const noexcept;

 private:
  int64_t first_driver_ = 0, first_host_ = 0;
  double rate_ = 1;  // nanoseconds of the host's for one of the driver's
};

/// Begins a recording of the device's work, and returns whether there is one. `goes_on`: one of
/// ours was never ended.
bool start_records(c10::DeviceIndex device, bool goes_on) noexcept;
/// Takes out the records that there are now, and counts the lost ones. Keeps at most `most`.
void take_records(c10::DeviceIndex device, size_t most, std::vector<outback_record>& to,
                  uint64_t& lost) noexcept;
/// Waits for the device's work, as far as that breaks no capture; `streams` are those that torch
/// has. Then ends the recording.
void stop_records(c10::DeviceIndex device, const std::vector<known_stream>& streams) noexcept;

/// Lets the work that the calling thread enqueues have this number in its records. False if the
/// driver refuses it. `pop_number` takes it back.
bool push_number(uint64_t number) noexcept;
void pop_number() noexcept;

/// A call that enqueued work under a number.
struct asked_work {
  uint64_t number;
  recorded_work what;
};

/// What `join` makes of the calls and the records of one device.
struct joined_work {
  std::vector<recorded_work> told;    // with times of the driver's clock
  std::vector<recorded_work> untold;  // calls that no record is of
  uint64_t lost = 0;                  // of `untold`: those that surely had work
};

/// Joins them by their numbers. A record of no call is told without one, a further record of one
/// call too, but for the call's operator. A launch of a graph of which pieces are known becomes a
/// range over them. `stream_of` returns torch's stream for the driver's number.
joined_work join(c10::DeviceIndex device, std::vector<asked_work> asked,
                 std::vector<outback_record> records,
                 const std::function<c10::StreamId(uint64_t)>& stream_of);

/// A `stream_of` for `join`: streams that are not among `streams` get ids from first_driver_stream
/// on.
std::function<c10::StreamId(uint64_t)> numbered_streams(c10::DeviceIndex device,
                                                        const std::vector<known_stream>& streams);

}  // namespace outback::core
