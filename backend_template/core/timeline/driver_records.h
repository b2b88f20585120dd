// The driver's own records of a device's work (the group activity of outback/runtime.h). Only for
// the files of timeline/. recorder.cpp starts and reads the records; `join` combines them with the
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

/// Reads the driver's clock and the host's clock at two moments. Between the two moments the clocks
/// may drift apart.
class driver_clock {
 public:
  /// Reads both clocks. Returns false if the driver does not tell its time.
  bool start(c10::DeviceIndex device) noexcept;
  /// Reads both clocks again, at the end.
  void finish(c10::DeviceIndex device) noexcept;
  /// Converts the time of a record to the host's clock. Call it after `finish`.
  int64_t on_host(int64_t of_driver) const noexcept;

 private:
  int64_t first_driver_ = 0, first_host_ = 0;
  double rate_ = 1;  // host nanoseconds per driver nanosecond
};

/// Begins a recording of the device's work. Returns true if the driver records now. `goes_on` is
/// true if an earlier recording of this process was never ended.
bool start_records(c10::DeviceIndex device, bool goes_on) noexcept;
/// Moves the driver's present records into `to`, up to `most`, and adds the number of lost records
/// to `lost`.
void take_records(c10::DeviceIndex device, size_t most, std::vector<outback_record>& to,
                  uint64_t& lost) noexcept;
/// Waits for the device's work, unless the wait would break a capture, then ends the recording.
/// `streams` are torch's streams on the device.
void stop_records(c10::DeviceIndex device, const std::vector<known_stream>& streams) noexcept;

/// Makes the driver put this number into the records of all work that the calling thread enqueues,
/// until `pop_number`. Returns false if the driver refuses the number.
bool push_number(uint64_t number) noexcept;
void pop_number() noexcept;

/// A call that enqueued work under a number.
struct asked_work {
  uint64_t number;
  recorded_work what;
};

/// The result of `join` for one device.
struct joined_work {
  std::vector<recorded_work> told;    // with times of the driver's clock
  std::vector<recorded_work> untold;  // calls without a record
  uint64_t lost = 0;                  // number of calls in `untold` that surely had work
};

/// Joins calls and records with the same number. A record without a call goes into `told` on its
/// own. Each further record of a call does too, but keeps the call's operator. A graph launch whose
/// pieces have records becomes a range over the pieces. `stream_of` returns torch's stream id for
/// the driver's stream number.
joined_work join(c10::DeviceIndex device, std::vector<asked_work> asked,
                 std::vector<outback_record> records,
                 const std::function<c10::StreamId(uint64_t)>& stream_of);

/// Returns a `stream_of` for `join`. Streams that are not among `streams` get ids from
/// first_driver_stream on.
std::function<c10::StreamId(uint64_t)> numbered_streams(c10::DeviceIndex device,
                                                        const std::vector<known_stream>& streams);

}  // namespace outback::core
