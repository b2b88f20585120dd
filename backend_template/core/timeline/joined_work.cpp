// Which record of the driver's is of which call.
#include <algorithm>

#include "backend_template/core/timeline/driver_records.h"

namespace outback::core {
namespace {

work kind_of(outback_record_kind kind) {
  switch (kind) {
    case OUTBACK_RECORD_KERNEL:
      return work::kernel;
    case OUTBACK_RECORD_COPY_TO_DEVICE:
      return work::copy_to_device;
    case OUTBACK_RECORD_COPY_TO_HOST:
      return work::copy_to_host;
    case OUTBACK_RECORD_COPY_WITHIN:
      return work::copy_within;
    case OUTBACK_RECORD_COPY_BETWEEN:
      return work::copy_between;
    case OUTBACK_RECORD_FILL:
      return work::fill;
    case OUTBACK_RECORD_CALLBACK:
      return work::callback;
    case OUTBACK_RECORD_GRAPH:
      return work::graph;
    default:
      return work::other;
  }
}

// Not a vendor's kernel, which may launch nothing, nor what a driver may leave out.
bool surely_has_work(work kind) {
  return kind != work::kernel && kind != work::callback;
}

class joiner {
 public:
  joiner(c10::DeviceIndex device, std::vector<asked_work> asked,
         const std::function<c10::StreamId(uint64_t)>& stream_of)
      : device_(device), asked_(std::move(asked)), stream_of_(stream_of) {
    std::sort(asked_.begin(), asked_.end(),
              [](const auto& x, const auto& y) { return x.number < y.number; });
    has_begun_.resize(asked_.size());
  }

  void take(const outback_record& record) {
    const auto found = std::lower_bound(
        asked_.begin(), asked_.end(), record.correlation,
        [](const asked_work& each, uint64_t number) { return each.number < number; });
    const bool has_call = found != asked_.end() && found->number == record.correlation;
    if (!has_call) return made_.told.push_back(told_by(record, nullptr));
    recorded_work& call = found->what;
    const auto has_begun = has_begun_.begin() + (found - asked_.begin());
    if (call.kind == work::graph || call.kind == work::graph_range) {
      take_of_graph(record, call, has_begun);
    } else if (!*has_begun) {
      *has_begun = true;
      call.device_begin = record.begin;
      call.device_end = record.end;
      call.name = record.name;
      if (record.bytes != 0) call.bytes = record.bytes;
    } else {
      made_.told.push_back(told_by(record, &call));
    }
  }

  joined_work finish() {
    for (size_t i = 0; i < asked_.size(); ++i) {
      const recorded_work& each = asked_[i].what;
      if (has_begun_[i]) {
        made_.told.push_back(each);
      } else {
        made_.untold.push_back(each);
        made_.lost += surely_has_work(each.kind) ? 1 : 0;
      }
    }
    return std::move(made_);
  }

 private:
  // Without a part of the host's, which the call has once.
  recorded_work told_by(const outback_record& record, const recorded_work* call) const {
    const bool is_inside = call != nullptr && (record.flags & OUTBACK_RECORD_IN_GRAPH) != 0;
    return {.kind = kind_of(record.kind),
            .device = device_,
            .stream = is_inside ? call->stream : stream_of_(record.stream),
            .bytes = record.bytes,
            .name = record.name,
            .in_operator = call == nullptr ? 0 : call->in_operator,
            .in_range = call == nullptr ? 0 : call->in_range,
            .thread = call == nullptr ? 0 : call->thread,
            .host_begin = 0,
            .host_end = 0,
            .device_begin = record.begin,
            .device_end = record.end};
  }

  // The launch lasts from its first piece to its last, if it has no record of its own.
  void take_of_graph(const outback_record& record, recorded_work& call,
                     std::vector<bool>::iterator has_begun) {
    if ((record.flags & OUTBACK_RECORD_IN_GRAPH) != 0) {
      made_.told.push_back(told_by(record, &call));
      call.kind = work::graph_range;
    }
    call.device_begin = *has_begun ? std::min(call.device_begin, record.begin) : record.begin;
    call.device_end = *has_begun ? std::max(call.device_end, record.end) : record.end;
    *has_begun = true;
  }

  const c10::DeviceIndex device_;
  std::vector<asked_work> asked_;  // by number
  std::vector<bool> has_begun_;    // those with times, by their places in asked_
  const std::function<c10::StreamId(uint64_t)>& stream_of_;
  joined_work made_;
};

}  // namespace

joined_work join(c10::DeviceIndex device, std::vector<asked_work> asked,
                 std::vector<outback_record> records,
                 const std::function<c10::StreamId(uint64_t)>& stream_of) {
  // The first record of a call is the call's own, and records come in no particular order.
  std::sort(records.begin(), records.end(),
            [](const auto& x, const auto& y) { return x.begin < y.begin; });
  joiner all(device, std::move(asked), stream_of);
  for (const outback_record& each : records) all.take(each);
  return all.finish();
}

}  // namespace outback::core
