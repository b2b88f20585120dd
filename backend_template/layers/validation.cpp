#include "backend_template/layers/validation.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>

#include "backend_template/layers/kept_list.hpp"
#include "outback/answer_check.hpp"

namespace outback::layers {

validation::validation(const outback_runtime& below, const outback_runtime& devices)
    : layer(below), devices_(devices) {}

void validation::refuse(const char* slot, const char* argument, std::string_view is,
                        std::string_view expected) {
  refuse(slot,
         std::string(argument) + " is " + std::string(is) + ": expected " + std::string(expected));
}

void validation::refuse(const char* slot, std::string_view why) {
  throw invalid_argument("validation: " + std::string(slot) + ": " + std::string(why));
}

void validation::blame(const char* slot, std::string_view what) {
  throw runtime_error(OUTBACK_INTERNAL, "validation: " + std::string(slot) +
                                            ": the runtime is wrong: it " + std::string(what));
}

void validation::blame_status(const char* slot, outback_status status) const {
  const char* known = status_name(status);
  blame(slot, "answered " + (known == nullptr
                                 ? "status " + std::to_string(status) + ", which there is not"
                                 : std::string(known) + ", which this slot may not"));
}

void validation::blame_written(const char* slot, outback_status status, const char* name) const {
  blame(slot, "answered " + std::string(status_name(status)) + " and wrote *" + name +
                  ", which a call without success leaves; its own text: " + error_below());
}

// ---- All slots

// The devices are checked first: a handle is looked up under its device.
void validation::check_arguments(const any_call& call) {
  for_each_argument(call, [&](const parameter& p, word value) {
    const int32_t device = value.device();
    if (p.is == role::device || (p.is == role::side && device != OUTBACK_HOST)) {
      check_device(call.slot.name, p.name, device);
    }
  });
  const int32_t device = stream_device(call);
  for_each_argument(call, [&](const parameter& p, word value) {
    if (p.is == role::needed && value.address() == nullptr) {
      refuse(call.slot.name, p.name, "null", "a pointer");
    }
    if (p.kind.empty() || is_output(p.is)) return;
    if (value.address() == nullptr && p.is == role::or_null) return;
    check_handle(call.slot.name, p, value.address(), device);
  });
}

std::set<int32_t> validation::involved(const any_call& call) const {
  std::set<int32_t> all = devices_of(call);
  for_each_argument(call, [&](const parameter& p, word value) {
    if (p.is != role::of_any) return;
    if (const auto found = objects_.find_of_any_device(p.kind, value.address())) {
      all.insert(found->device);
    }
  });
  return all;
}

validation::giving validation::give(const any_call& call) {
  giving given;
  for_each_argument(call, [&](const parameter& p, word value) {
    if (p.is != role::ends) return;
    const int32_t device = stream_device(call);
    given.handle = objects_.take(p.kind, value.address(), device);
    // check_arguments has seen the handle; if it is gone now, another thread was faster.
    if (!given.handle) check_handle(call.slot.name, p, value.address(), device);
  });
  return given;
}

void validation::check_answer(const any_call& call, outback_status status, const giving& given,
                              const std::vector<own_output>& own) {
  // The name of an output of which it is so.
  const auto which = [&](bool (own_output::*is)() const) -> const char* {
    const auto found = std::find_if(own.begin(), own.end(), std::mem_fn(is));
    return found == own.end() ? nullptr : found->is().name;
  };
  // After any other failure the object is gone (outback/runtime.h, "Ownership").
  if (status == OUTBACK_INVALID_ARGUMENT) {
    if (given.memory) objects_.put_back(*given.memory);
    if (given.handle) objects_.put_back(*given.handle);
  }
  // Before the checks, which may throw: the device is lost all the same.
  if (status == OUTBACK_DEVICE_LOST) lose(call);

  const char* slot = call.slot.name;
  if (status_name(status) == nullptr ||
      (status == OUTBACK_NOT_READY && !call.slot.may_be_not_ready)) {
    blame_status(slot, status);
  }
  if (const char* name = which(&own_output::overrun)) {
    blame(slot, "wrote beyond the end of *" + std::string(name));
  }
  if (status != OUTBACK_OK) {
    if (const char* name = which(&own_output::written)) blame_written(slot, status, name);
    return;
  }
  if (const char* name = which(&own_output::untouched)) {
    blame(slot, "answered ok and wrote nothing to *" + std::string(name));
  }
  for (const own_output& each : own) {
    if (each.is().is != role::makes && each.is().is != role::lends) continue;
    const void* const handle = word_at(each.place(), each.is()).address();
    if (handle == nullptr) {
      blame(slot, "answered ok and made *" + std::string(each.is().name) + " null");
    }
    if (each.is().is == role::makes) receive_handle(slot, each.is(), handle, stream_device(call));
  }
}

// ---- Devices

std::optional<int32_t> validation::device_count() {
  // Neither a failure nor a 0 is kept: a driver that comes up later is asked again.
  int32_t count = count_.load(std::memory_order_relaxed);
  if (count > 0) return count;
  const outback_runtime& table = devices_.runtime();
  if (table.device_count(table.self, &count) != OUTBACK_OK || count < 0) return std::nullopt;
  count_.store(count, std::memory_order_relaxed);
  return count;
}

// Asks device_info for the runtime's reason, because the call that is refused never reaches the
// runtime.
std::string validation::why_there_are_none() {
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  const outback_runtime& table = devices_.runtime();
  if (table.device_info(table.self, 0, &info) == OUTBACK_OK) return "";
  return std::string(": ") + table.last_error(table.self);
}

void validation::check_device(const char* slot, const char* argument, int32_t device) {
  const auto count = device_count();
  if (!count) return;  // the runtime cannot count: let it refuse the call with its own text
  if (device >= 0 && device < *count) return;
  refuse(slot, argument, std::to_string(device),
         *count == 0   ? "nothing, as there are no devices" + why_there_are_none()
         : *count == 1 ? "0, the only device"
                       : "a device from 0 to " + std::to_string(*count - 1));
}

validation::facts validation::facts_of(int32_t device) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = facts_.find(device); found != facts_.end()) return found->second;
    if (lost_.contains(device)) return {};  // it may not be asked any more
  }
  // Without the lock, since device_info may take long. Two threads may ask; both get the same
  // answer.
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  const outback_runtime& table = devices_.runtime();
  if (table.device_info(table.self, device, &info) != OUTBACK_OK) return {};
  const facts known = {true, info.flags, info.alignment == 0 ? 1 : info.alignment,
                       info.kernels_of > 1 /* DLPack: the CPU */, info.max_group_size};
  const std::lock_guard lock(mutex_);
  return facts_.try_emplace(device, known).first->second;
}

void validation::check_not_lost(const any_call& call) const {
  if (!any_lost_.load(std::memory_order_acquire)) return;
  const std::set<int32_t> devices = involved(call);
  const std::lock_guard lock(mutex_);
  for (const int32_t device : devices) {
    if (const auto found = lost_.find(device); found != lost_.end()) {
      throw device_lost("validation: device " + std::to_string(device) + " is lost since " +
                        found->second);
    }
  }
}

void validation::lose(const any_call& call) {
  const std::set<int32_t> devices = involved(call);
  if (devices.size() != 1) return;  // of two, the status does not say which one
  const char* why = error_below();
  const std::lock_guard lock(mutex_);
  lost_.try_emplace(*devices.begin(),
                    call.slot.name + std::string(*why == '\0' ? "" : ": ") + std::string(why));
  any_lost_.store(true, std::memory_order_release);
}

bool validation::is_lost(int32_t device) const {
  if (!any_lost_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(mutex_);
  return lost_.contains(device);
}

// ---- Handles

void validation::check_handle(const char* slot, const parameter& p, const void* handle,
                              int32_t device) const {
  const bool any = p.is == role::of_any;
  if (handle != nullptr && (any ? objects_.find_of_any_device(p.kind, handle).has_value()
                                : objects_.find(p.kind, handle, device).has_value())) {
    return;
  }
  const std::string expected = "one of the " + std::string(p.kind) + "s that this runtime made" +
                               (any ? "" : " for device " + std::to_string(device));
  if (handle == nullptr) refuse(slot, p.name, "null", expected);
  const auto elsewhere = objects_.find_of_any_device(p.kind, handle);
  refuse(slot, p.name, address_text(handle),
         expected + (elsewhere ? "; it is one of device " + std::to_string(elsewhere->device)
                     : objects_.was_ended(p.kind, handle) ? "; it was destroyed already"
                                                          : "; it is none"));
}

void validation::receive_handle(const char* slot, const parameter& p, const void* handle,
                                int32_t device) {
  if (const auto there = objects_.add(p.kind, handle, device)) {
    blame(slot, (p.kind == event_kind ? "made an " : "made a ") + std::string(p.kind) +
                    " that is there already: " + address_text(handle) + " (object " +
                    std::to_string(there->number) + ")");
  }
}

// ---- Single slots

void validation::check(slots::event_elapsed, outback_event from, outback_event to, int64_t*) {
  const char* slot = slots::event_elapsed::name;
  const auto first = objects_.find_of_any_device(event_kind, from);
  const auto second = objects_.find_of_any_device(event_kind, to);
  if (!first || !second) return;  // another thread destroyed one; the runtime will refuse the call
  const auto check_timing = [&](const char* argument, const made_handle& event) {
    if ((event.state & OUTBACK_EVENT_TIMING) != 0) return;
    refuse(slot, argument,
           address_text(event.handle) + ", created with flags " + std::to_string(event.state),
           "one created with OUTBACK_EVENT_TIMING");
  };
  check_timing("from", *first);
  check_timing("to", *second);
  if (first->device == second->device) return;
  refuse(slot, "to", address_text(to) + ", of device " + std::to_string(second->device),
         "one of device " + std::to_string(first->device) + ", as `from` is");
}

void validation::receive(slots::event_create, int32_t device, uint32_t flags,
                         outback_event* event) {
  objects_.set(event_kind, *event, device, flags, event_kind);
}

void validation::receive(slots::native_wrap_stream, int32_t device, void*, outback_stream* stream) {
  objects_.set(handle_name<outback_stream>, *stream, device, 0, "wrapped stream");
}

void validation::receive(slots::device_count, int32_t* count) {
  // Another number than before is told once and counts from then on: a driver may find fewer
  // devices when it starts, and the calls after that have to go on.
  const int32_t before = *count < 0 ? -1 : count_.exchange(*count, std::memory_order_relaxed);
  const std::string problem = device_count_problem(*count, before);
  if (!problem.empty()) blame(slots::device_count::name, problem);
}

void validation::receive(slots::device_info, int32_t device, outback_device_info* info) {
  if (info->struct_size < sizeof(*info)) return;  // from an older caller, with fewer members
  const std::string problem = device_info_problem(*info);
  if (!problem.empty()) {
    blame(slots::device_info::name, problem + " (device " + std::to_string(device) + ")");
  }
}

void validation::receive(slots::host_info, const void* ptr, outback_pointer_info* info) {
  if (info->struct_size < offsetof(outback_pointer_info, pinned)) return;  // without `device`
  const auto count = device_count();
  if (!count) return;
  outback_pointer_info known = {};
  std::memcpy(&known, info, std::min(std::size_t{info->struct_size}, sizeof(known)));
  if (info->struct_size < sizeof(known)) {  // half an allocation is none
    known.base = nullptr;
    known.size = 0;
  }
  const std::string problem = pointer_info_problem(known, ptr, *count);
  if (!problem.empty()) blame(slots::host_info::name, problem);
}

void validation::receive(slots::stream_priorities, int32_t, int32_t* least, int32_t* greatest) {
  if (*least >= 0 && *greatest <= 0) return;
  blame(slots::stream_priorities::name, "made *least " + std::to_string(*least) +
                                            " and *greatest " + std::to_string(*greatest) +
                                            ": expected *least >= 0 >= *greatest");
}

void validation::receive(slots::peer_can_access, int32_t device, int32_t peer, int32_t* can) {
  if (device != peer || *can == 0) return;
  blame(slots::peer_can_access::name,
        "made device " + std::to_string(device) + " a peer of itself");
}

void validation::receive(slots::activity_read, int32_t device, outback_records* records) {
  const std::string problem = records_problem(*records);
  if (problem.empty()) return;
  blame(slots::activity_read::name, problem + " (device " + std::to_string(device) + ")");
}

// ---- Leaks

namespace {

// One list for all tables, since a stream has the same handle in each of them. Leaked: static
// destructors may still make streams.
kept_list<outback_stream>& kept_streams() {
  static auto& streams = *new kept_list<outback_stream>;
  return streams;
}

}  // namespace

void keep_until_exit(outback_stream stream) {
  kept_streams().add(stream);
}

std::string validation::leaks() const {
  const auto is_kept = [](std::string_view kind, uintptr_t handle) {
    const auto is_it = [&](const void* each) { return each == reinterpret_cast<void*>(handle); };
    const std::vector<outback_stream> all = kept_streams().all();
    return kind == handle_name<outback_stream> && std::any_of(all.begin(), all.end(), is_it);
  };
  const auto lost = [](const void* me, int32_t device) {
    return static_cast<const validation*>(me)->is_lost(device);
  };
  const std::string left = objects_.report(lost, this, is_kept);
  return left.empty() ? left : "outback: never freed or destroyed:\n" + left;
}

namespace {

struct at_exit {
  const validation* layer;
  pid_t process;
};

// The layers that report at exit.
kept_list<at_exit>& reports_at_exit() {
  static auto& reports = *new kept_list<at_exit>;
  return reports;
}

void report_leaks() {
  for (const at_exit& each : reports_at_exit().all()) {
    if (each.process != getpid()) continue;  // a forked child: the objects are its parent's
    std::fputs(each.layer->leaks().c_str(), stderr);
  }
}

void report_at_exit(const validation& layer) {
  // Registered with the first layer, so that functions which are passed to std::atexit later, such
  // as those that give back caches, run before the report.
  if (reports_at_exit().add({&layer, getpid()})) std::atexit(&report_leaks);
}

}  // namespace

bool tells_leaks_at_exit() noexcept {
  return !reports_at_exit().empty();
}

const outback_runtime* validate(const outback_runtime* below, const validation_options& options) {
  check_table(below);
  if (options.devices != nullptr) check_table(options.devices);
  auto* made = new validation(*below, options.devices == nullptr ? *below : *options.devices);
  if (options.report_at_exit) report_at_exit(*made);
  return made->table();
}

std::string leaks(const outback_runtime* validated) {
  const validation* found = validation::of(validated);
  if (found == nullptr) throw invalid_argument("leaks: this is no table of validate()");
  return found->leaks();
}

}  // namespace outback::layers
