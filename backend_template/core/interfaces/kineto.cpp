// The device's timeline (timeline/timeline.h) as a profiler of kineto's, which torch.profiler
// drives: kineto tells which operator each thread is in, and takes the pieces of work in the end.
//
// Later torches than 2.11 have a registry of their own for this (privateuse1_profiler.h). It hands
// what it gets to the function that is called here, which 2.11 has too.
#include "backend_template/core/interfaces/registries.h"

#if __has_include(<kineto/libkineto.h>)

// As torch compiles them.
#define KINETO_NAMESPACE libkineto
#pragma GCC visibility push(default)
#include <kineto/libkineto.h>
#include <kineto/output_base.h>
#pragma GCC visibility pop

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend_template/core/interfaces/driver_ranges.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/timeline/timeline.h"

namespace outback::core {
namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;
using libkineto::ITraceActivity;

// How a kind of work is called: on the device's rows as other devices call it, which tools that
// read traces know; on the host's by the slot. Null where it has no row there, and for kernels,
// which have no name but their operator's.
struct kind_text {
  work kind;
  ActivityType type;
  const char* on_device;
  const char* slot;
};
constexpr std::array kind_texts{
    kind_text{work::kernel, ActivityType::CONCURRENT_KERNEL, nullptr, "launch"},
    kind_text{work::copy_to_device, ActivityType::GPU_MEMCPY, "Memcpy HtoD", "mem_copy"},
    kind_text{work::copy_to_host, ActivityType::GPU_MEMCPY, "Memcpy DtoH", "mem_copy"},
    kind_text{work::copy_within, ActivityType::GPU_MEMCPY, "Memcpy DtoD", "mem_copy"},
    kind_text{work::copy_between, ActivityType::GPU_MEMCPY, "Memcpy PtoP", "mem_copy"},
    kind_text{work::fill, ActivityType::GPU_MEMSET, "Memset", "mem_fill"},
    kind_text{work::graph, ActivityType::CONCURRENT_KERNEL, "graph", "graphs.launch"},
    kind_text{work::graph_range, ActivityType::GPU_USER_ANNOTATION, "graph", "graphs.launch"},
    kind_text{work::callback, ActivityType::CONCURRENT_KERNEL, "host callback",
              "callbacks.enqueue"},
    kind_text{work::other, ActivityType::CONCURRENT_KERNEL, "other work", nullptr},
    kind_text{work::kernel_in_place, ActivityType::CONCURRENT_KERNEL, nullptr, nullptr},
    kind_text{work::collective, ActivityType::CONCURRENT_KERNEL, nullptr, nullptr},
    kind_text{work::stream_wait, ActivityType::PRIVATEUSE1_RUNTIME, nullptr, "streams.sync"},
    kind_text{work::device_wait, ActivityType::PRIVATEUSE1_RUNTIME, nullptr, "device_sync"},
    kind_text{work::event_wait, ActivityType::PRIVATEUSE1_RUNTIME, nullptr, "events.sync"},
    kind_text{work::fallback, ActivityType::PRIVATEUSE1_RUNTIME, nullptr, "fallback"},
};

const kind_text& text_of(work kind) {
  return kind_texts[static_cast<size_t>(kind)];
}
static_assert([] {
  for (size_t i = 0; i < kind_texts.size(); ++i) {
    if (kind_texts[i].kind != static_cast<work>(i)) return false;
  }
  return true;
}());

// The row of the collectives, behind those of the streams.
constexpr int32_t collective_row = 1'000'000;

int32_t row_of(const recorded_work& piece) {
  return piece.stream == no_stream ? collective_row : static_cast<int32_t>(piece.stream);
}

// Above all that torch and CUDA's profiler count to in a profile: one space of numbers is for all.
constexpr uint32_t first_number = 1U << 30;

// Lives for ever, as the activities want of their span.
const libkineto::TraceSpan& span() {
  static const auto& made = *new libkineto::TraceSpan(0, 0, backend_name());
  return made;
}

using find_operator = std::function<const ITraceActivity*(int32_t)>;

std::string name_on_device(const recorded_work& piece, const ITraceActivity* in) {
  if (piece.name != nullptr) return piece.name;
  const char* const text = text_of(piece.kind).on_device;
  if (text != nullptr) return text;
  // "cpu::mm" and "acme::zero_", by whose kernel it is. Not "aten::mm": whoever counts operators by
  // their names would count each twice.
  const std::string whose = piece.kind == work::kernel_in_place ? "cpu" : backend_name();
  if (in == nullptr) return whose + "::kernel";
  const std::string name = in->name();
  constexpr std::string_view of_torch = "aten::";
  const bool is_torchs = std::string_view(name).substr(0, of_torch.size()) == of_torch;
  return whose + "::" + (is_torchs ? name.substr(of_torch.size()) : name);
}

// What ends with its operator ends when torch says that the operator did.
void set_times(GenericTraceActivity& of, const recorded_work& piece, int64_t begin, int64_t end,
               const ITraceActivity* in) {
  const bool ends_with_it = piece.kind == work::kernel_in_place || piece.kind == work::fallback;
  if (ends_with_it && in != nullptr) end = in->timestamp() + in->duration();
  of.startTime = std::min(begin, end);
  of.endTime = end;
}

void add_facts(GenericTraceActivity& to, const recorded_work& piece) {
  to.addMetadata("device", int{piece.device});
  if (piece.stream != no_stream) to.addMetadata("stream", int64_t{piece.stream});
  if (piece.bytes != 0) to.addMetadata("bytes", piece.bytes);
}

GenericTraceActivity on_host(const recorded_work& piece, const ITraceActivity* in) {
  std::string name = core::format("{}::{}", backend_name(), text_of(piece.kind).slot);
  if (piece.kind == work::fallback) name = "fallback: " + (in == nullptr ? name : in->name());
  GenericTraceActivity made(span(), ActivityType::PRIVATEUSE1_RUNTIME, name);
  set_times(made, piece, piece.host_begin, piece.host_end, in);
  made.device = libkineto::processId();
  made.resource = made.threadId = piece.thread;
  made.linked = in;
  add_facts(made, piece);
  return made;
}

GenericTraceActivity on_device(const recorded_work& piece, const ITraceActivity* in) {
  GenericTraceActivity made(span(), text_of(piece.kind).type, name_on_device(piece, in));
  set_times(made, piece, piece.device_begin, piece.device_end, in);
  made.device = piece.device;
  made.resource = row_of(piece);
  made.threadId = piece.thread;
  // Its pieces count for the operator, and it would count once more.
  made.linked = piece.kind == work::graph_range ? nullptr : in;
  add_facts(made, piece);
  return made;
}

// Kineto's struct had a constructor, and other members first, in torch 2.11.
template <class Info>
Info resource_info(int64_t device, int64_t row, const std::string& name) {
  if constexpr (std::is_aggregate_v<Info>) {
    return {.id = row, .sortIndex = row, .deviceId = device, .name = name};
  } else {
    return {device, row, row, name};
  }
}

libkineto::DeviceInfo device_info_of(c10::DeviceIndex device) {
  return {device, libkineto::kExceedMaxPid + device, backend_name(),
          core::format("{}:{}", backend_name(), int{device})};
}

class session final : public libkineto::IActivityProfilerSession {
 public:
  explicit session(std::set<ActivityType> wanted) : wanted_(std::move(wanted)) {}
  ~session() override {
    abandon_recording(profile_);
    end_ranges();
  }

  void start() override {
    profile_ = start_recording();
    if (profile_ != 0 && has_driver_ranges()) {
      begin_driver_ranges(/*operators=*/false);
      emits_ranges_ = true;
    }
    status_ = profile_ == 0 ? libkineto::TraceStatus::ERROR : libkineto::TraceStatus::RECORDING;
  }

  void stop() override {
    end_ranges();
    recorded_ = stop_recording(std::exchange(profile_, 0), known_streams);
    status_ = libkineto::TraceStatus::PROCESSING;
    if (recorded_.lost != 0) {
      warn(backend_name(), ": of ", recorded_.lost,
           " pieces of work the profile has no time on the device");
    }
  }

  std::vector<std::string> errors() override { return {}; }

  void processTrace(libkineto::ActivityLogger& logger) override {
    hand_over_or_warn(logger, [](int32_t) { return nullptr; });
  }

  void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback find,
                    int64_t /*begin*/, int64_t /*end*/) override {
    hand_over_or_warn(logger, find);
  }

  // Of one device. hand_over tells of the others.
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    if (rows_.empty()) return nullptr;
    return std::make_unique<libkineto::DeviceInfo>(device_info_of(rows_.begin()->first));
  }

  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    std::vector<libkineto::ResourceInfo> made;
    for (const auto& [device, row] : rows_) {
      const std::string name =
          row == collective_row ? "collectives"
          : row >= first_driver_stream
              ? core::format("stream {} of the driver's", row - first_driver_stream + 1)
          : row == 0 ? "stream 0 (default)"
                     : core::format("stream {}", row);
      made.push_back(resource_info<libkineto::ResourceInfo>(device, row, name));
    }
    return made;
  }

  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return nullptr; }

  void pushCorrelationId(uint64_t id) override { enter_operator(id, false); }
  void popCorrelationId() override { leave_operator(); }
  void pushUserCorrelationId(uint64_t id) override { enter_operator(id, true); }
  void popUserCorrelationId() override { leave_operator(); }

 private:
  void end_ranges() noexcept {
    if (std::exchange(emits_ranges_, false)) end_driver_ranges(/*operators=*/false);
  }

  bool wants(ActivityType type) const { return wanted_.count(type) != 0; }

  void hand_over_or_warn(libkineto::ActivityLogger& logger, const find_operator& find) noexcept {
    try {
      hand_over(logger, find);
    } catch (...) {
      warn(backend_name(), ": the profile lacks work of the device: ", handled_text());
    }
  }

  void hand_over(libkineto::ActivityLogger& logger, const find_operator& find) {
    for (const nested_range& each : recorded_.nested) outer_.emplace(each.range, each.outer);
    uint32_t number = first_number;
    for (const recorded_work& piece : recorded_.all) {
      const bool is_of_operator = piece.in_operator != 0;
      const ITraceActivity* const in =
          is_of_operator ? find(static_cast<int32_t>(piece.in_operator)) : nullptr;
      const kind_text& text = text_of(piece.kind);
      const bool has_host_row =
          text.slot != nullptr && piece.host_begin != 0 && wants(ActivityType::PRIVATEUSE1_RUNTIME);
      const bool has_device_row = piece.device_begin != 0 && wants(text.type);
      const auto hand = [&](GenericTraceActivity made, bool is_first) {
        made.id = static_cast<int32_t>(number);
        if (has_host_row && has_device_row) {
          made.flow.id = number;
          made.flow.type = libkineto::kLinkAsyncCpuGpu;
          made.flow.start = is_first ? 1 : 0;
        }
        logger.handleGenericActivity(made);
      };
      if (has_host_row) hand(on_host(piece, in), true);
      if (has_device_row) {
        hand(on_device(piece, in), false);
        rows_.emplace(piece.device, row_of(piece));
        extend_range(piece);
      }
      ++number;
    }
    if (wants(ActivityType::GPU_USER_ANNOTATION)) hand_over_ranges(logger, find);
    for (auto each = rows_.begin(); each != rows_.end(); ++each) {
      if (each == rows_.begin() || std::prev(each)->first == each->first) continue;
      logger.handleDeviceInfo(device_info_of(each->first), 0);
    }
  }

  // Of the range that the piece is in, and of those around that one.
  void extend_range(const recorded_work& piece) {
    const extent now{piece.device_begin, piece.device_end};
    uint64_t range = piece.in_range;
    while (range != 0) {
      extent& known = ranges_.try_emplace({piece.device, row_of(piece), range}, now).first->second;
      known.begin = std::min(known.begin, now.begin);
      known.end = std::max(known.end, now.end);
      const auto outer = outer_.find(range);
      range = outer == outer_.end() ? 0 : outer->second;
    }
  }

  // A range of record_function's on each row where it had work.
  void hand_over_ranges(libkineto::ActivityLogger& logger, const find_operator& find) {
    for (const auto& [where, extent] : ranges_) {
      const auto& [device, row, range] = where;
      const ITraceActivity* const named = find(static_cast<int32_t>(range));
      if (named == nullptr) continue;
      GenericTraceActivity made(span(), ActivityType::GPU_USER_ANNOTATION, named->name());
      made.startTime = extent.begin;
      made.endTime = extent.end;
      made.device = device;
      made.resource = row;
      made.id = static_cast<int32_t>(range);
      logger.handleGenericActivity(made);
    }
  }

  struct extent {
    int64_t begin, end;
  };

  const std::set<ActivityType> wanted_;
  uint64_t profile_ = 0;
  bool emits_ranges_ = false;
  timeline recorded_;
  std::set<std::pair<c10::DeviceIndex, int32_t>> rows_;  // with work
  std::map<std::tuple<c10::DeviceIndex, int32_t, uint64_t>, extent> ranges_;
  std::unordered_map<uint64_t, uint64_t> outer_;  // the range around a range
};

class profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return backend_name(); }

  const std::set<ActivityType>& availableActivities() const override {
    static const auto& all = *new std::set<ActivityType>{
        ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY, ActivityType::GPU_MEMSET,
        ActivityType::GPU_USER_ANNOTATION, ActivityType::PRIVATEUSE1_RUNTIME};
    return all;
  }

  // Null where nothing of the device is asked for. Profiles of the CPU alone ask for the runtime's
  // calls too, and shall cost nothing here.
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<ActivityType>& wanted, const libkineto::Config& /*config*/) override {
    const bool is_of_device = wanted.count(ActivityType::CONCURRENT_KERNEL) +
                                  wanted.count(ActivityType::GPU_MEMCPY) +
                                  wanted.count(ActivityType::GPU_MEMSET) !=
                              0;
    return is_of_device ? std::make_unique<session>(wanted) : nullptr;
  }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t /*begin_ms*/, int64_t /*duration_ms*/, const std::set<ActivityType>& wanted,
      const libkineto::Config& config) override {
    return configure(wanted, config);
  }
};

}  // namespace

void register_timeline() {
  libkineto::api().registerProfilerFactory([] { return std::make_unique<profiler>(); });
}

}  // namespace outback::core

#else

// This torch was built without kineto.
namespace outback::core {

void register_timeline() {}

}  // namespace outback::core

#endif
