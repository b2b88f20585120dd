// Layers over a runtime: tables that check, record or disturb the calls that go through them. Read
// this to find a fault in a runtime or in the code that calls the runtime. No torch.
//
// A layer is itself an `outback_runtime` over any other table, and has the same groups as the table
// below. To use a layer, a program or backend takes the layer's table instead of the runtime's, and
// changes nothing else. A registered backend calls `from_environment` by itself.
//
//   const outback_runtime* table = outback::layers::from_environment(outback::table_of(device));
//
//   OUTBACK_VALIDATE=1            checks every call: arguments, ownership, use after free, lost
//                                 devices, and the runtime's answers. When the process ends, lists
//                                 on stderr the memory and objects that are left.
//   OUTBACK_TRACE=calls.json      records every call: thread, arguments, status, duration. A file
//                                 name that ends in .json makes a Chrome trace (chrome://tracing,
//                                 ui.perfetto.dev), any other name makes a line of text for each
//                                 call.
//   OUTBACK_FAULTS=mem_alloc:3=out_of_memory
//                                 makes calls fail, take longer, or lose their device; see
//                                 `parse_faults` for the grammar.
//
// Without these variables `from_environment` returns the table that it was given, and calls cost
// nothing extra. For each call, validation takes some locks and lookups, a trace writes a line of
// text, and faults take a lock and check the rules.
//
//   Order      A call goes from the caller through trace, validation and faults to the runtime. So
//              the trace shows the caller's requests and their results, including refusals and
//              injected faults, and faults do not count calls that validation refuses. Validation's
//              own questions about devices bypass the faults, so that the n-th call that the faults
//              see is the caller's n-th. A registered backend puts the layer that hides devices
//              (`select_devices`) over all of these, so the layers below it use the runtime's own
//              device numbers, in their arguments and in their texts.
//   Lifetime   Layers are leaked on purpose: a table and all its parts live until the process ends,
//              as a runtime's table does. A layer copies the table below, and passes the `self` of
//              the table below to the slots of the table below.
//   Threads    All functions, and the slots of all layers, may be called from any thread. No layer
//              holds a lock while a slot below it runs. After a fork, validation works in the child
//              as before. From the child's first call on, its trace goes to a separate file, with
//              the process's number before the extension. If the trace goes to a terminal or a
//              pipe, both processes write there.
//   Errors     The functions below throw outback::invalid_argument. The text states the wrong value
//              and the expected value. Slots throw nothing. last_error of a layer's table returns
//              the text of the calling thread's last failure, whether the layer itself refused the
//              call or a table below it failed.
//   Whole      The caller must make all calls through the outermost table, from the first call on:
//              a layer does not know objects that were made without the layer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "outback/runtime.h"

namespace outback::layers {

/// Returns the table of the layers that the environment asks for, over `below`. Returns `below`
/// itself if the environment asks for no layer. `below` is borrowed and must be valid until the
/// process ends. A second call makes new layers.
///
/// Reads OUTBACK_VALIDATE, OUTBACK_TRACE and OUTBACK_FAULTS, and opens the trace's file. Throws
/// outback::invalid_argument if a variable is malformed or the file cannot be written. If the
/// environment asks for a layer, also throws outback::invalid_argument if `outback::table_problem`
/// refuses `below`. Calls no slot.
const outback_runtime* from_environment(const outback_runtime* below);

// ---- Visible devices

/// Returns the indices of the devices of `below` that `list` names, in the order of the list. The
/// list is read as torch.cuda reads CUDA_VISIBLE_DEVICES (torch/cuda/__init__.py): numbers ("1,0";
/// text after a number is ignored), or "GPU-" and the beginning of a UUID ("GPU-4af1,GPU-07"),
/// separated by commas. The list ends at an entry that names no device or several devices. If an
/// entry names a device a second time, the result is empty.
///
/// Calls device_count, and device_info only if `list` begins with a UUID. If a slot fails, throws
/// outback::runtime_error with its status and text. Throws outback::invalid_argument if `below`
/// cannot be used.
std::vector<int32_t> parse_visible_devices(const outback_runtime* below, std::string_view list);

/// Returns a table that has only these devices of `below`. The table numbers them from 0 up, in the
/// order of `devices`. An empty list makes a table without devices. Calls device_count. Throws
/// outback::invalid_argument for a device that does not exist or is named twice, and
/// outback::runtime_error if device_count fails.
///
/// If `below` fails, the text of `last_error` contains the device numbers of `below`.
const outback_runtime* select_devices(const outback_runtime* below,
                                      const std::vector<int32_t>& devices);

// ---- Validation

/// Options of `validate`.
struct validation_options {
  /// Validation asks this table about the number and the properties of devices, about memory of
  /// other processes, and whether a stream is in a capture. Null means the table below. Pass the
  /// runtime's own table if there are faults in between, so that the faults do not count these
  /// calls.
  const outback_runtime* devices = nullptr;
  /// When the process that made the layer ends, writes the text of `leaks` to stderr, unless it is
  /// "". A forked child writes nothing.
  bool report_at_exit = false;
};

/// Returns a table that checks each call before the table below gets it, and checks the outputs
/// afterwards.
///
/// If the caller made a mistake, the call returns OUTBACK_INVALID_ARGUMENT and the runtime is not
/// called. The text names the slot, the argument, its value and the expected value:
///
///   validation: mem_free: ptr is 0x7f0000001000: expected an allocation of device 0; it was freed
///   already (object 3)
///
/// If the runtime made a mistake, the call returns OUTBACK_INTERNAL and the caller's outputs stay
/// as they were. Mistakes are: a failed call that wrote its outputs; OUTBACK_OK with a null result
/// or without a result; memory that is misaligned or in use already; a number of devices that
/// changes; impossible properties (outback/answer_check.hpp); a status that the slot must not
/// return.
///
/// Pairs of calls must match. A range is registered before it is removed; memory of another process
/// is closed as often as it was opened; a capture begins before it ends; a graph is instantiated
/// once, before it is launched. mem_free refuses memory of another process, which must be closed
/// instead.
///
/// After OUTBACK_DEVICE_LOST every call on that device returns the same status without calling the
/// runtime. If a copy between two devices returns OUTBACK_DEVICE_LOST, validation cannot know which
/// of the two is lost, and waits for a call that names only one device.
///
/// Validation does not see some mistakes: a copy or fill of freed memory on a device with
/// OUTBACK_ADDRESSES_HOST, because that memory may belong to the host by now (with the host
/// runtime, set OUTBACK_HOST_ADDRESSABLE=0 to see this mistake); a graph that reads or writes
/// memory that was freed; and calls that break a capture, which the runtime refuses itself.
///
/// `below` is borrowed and must be valid until the process ends. Throws outback::invalid_argument
/// if `outback::table_problem` refuses `below` or `options.devices`. Calls no slot.
const outback_runtime* validate(const outback_runtime* below,
                                const validation_options& options = {});

/// Returns a text about all memory and objects that were allocated or created through `validated`
/// and not freed: a paragraph for each kind of object and device; "" if there are none. Leaves out
/// the objects of a lost device and the streams that were passed to `keep_until_exit`. Throws
/// outback::invalid_argument if `validated` is not a table from `validate`.
std::string leaks(const outback_runtime* validated);

/// Returns true if a table of this process was made with `report_at_exit`. A cache above the layers
/// must then free its memory before the report is written. To do so, it passes a function to
/// std::atexit after the layer was made: such functions run in reverse order.
bool tells_leaks_at_exit() noexcept;

/// Tells validation that the owner of `stream` keeps it until the process ends, on purpose: no
/// table reports it as a leak.
void keep_until_exit(outback_stream stream);

// ---- Trace

/// Returns a table that writes each call to the file `path`, which is overwritten. The file gets a
/// Chrome trace if its name ends in ".json", otherwise lines of text. Throws
/// outback::invalid_argument if the file cannot be written or if `outback::table_problem` refuses
/// `below`.
///
/// The trace does not follow a symbolic link and does not overwrite a file with several names (hard
/// links): otherwise anybody who may write into the folder could choose a file that is lost.
/// /dev/stderr, /dev/stdout and /dev/fd/<number> mean this process's own descriptors.
///
/// The duration in an entry is that of the call below, without the trace's own work. Entries are
/// buffered. The buffer is written when a call fails, when it holds 64 KiB, at the first call a
/// quarter of a second or more after the last write, and at exit. A Chrome trace in a file is
/// complete JSON after each write, however the process ends.
const outback_runtime* trace(const outback_runtime* below, const std::string& path);

/// Writes the entries that `traced` has buffered. Throws outback::invalid_argument if `traced` is
/// not a table from `trace`.
void flush_trace(const outback_runtime* traced);

// ---- Faults

/// One rule: which calls of which slot are disturbed, and how.
struct fault {
  /// A value for `device`: the rule counts all calls, including calls that name no device.
  static constexpr int32_t any_device = -2;

  /// The slot's name as in outback/runtime.h (mem_alloc, streams.sync) or as in outback/runtime.hpp
  /// (stream_sync); "*" means all slots.
  std::string slot = "*";
  /// The number of the first call that is disturbed, from 1, among the calls that the rule counts:
  /// see `device`.
  uint64_t first = 1;
  /// After that first call, every `every`-th call is disturbed too; 0 means no other call.
  uint64_t every = 0;
  /// The rule counts only calls that name this device.
  int32_t device = any_device;
  /// How long the calling thread sleeps before the call, at most an hour.
  std::chrono::nanoseconds delay{0};
  /// The status that the call returns. With OUTBACK_OK the runtime gets the call, with another
  /// status it does not. After OUTBACK_DEVICE_LOST all calls that name the lost device fail with
  /// OUTBACK_DEVICE_LOST. The lost device is `device`, or, if `device` is `any_device`, the device
  /// whose stream the call would use. A graphs.end that fails still ends the capture.
  outback_status status = OUTBACK_OK;
};

/// Returns the faults that `text` describes. `;` separates the faults, and spaces may stand between
/// the parts of a fault:
///
///   <slot>:<which>=<what>             mem_alloc:3=out_of_memory     the third allocation
///   <slot>:<which>=<what>@<device>    mem_copy:10=device_lost@1     the tenth copy to or from
///                                                                   device 1, and all later calls
///   which   3      that call              what   invalid_argument, out_of_memory, device_lost,
///           3+     that one and all after        unsupported, internal
///           *      every call                    not_ready, of streams.query, events.query and
///           */5    every fifth                             events.elapsed
///                                                delay(5ms), with ns, us, ms or s; up to an hour
///
/// Each fault has its own count of calls. If several faults match one call, all their delays and
/// the first status take effect. Throws outback::invalid_argument; its text shows where `text` is
/// wrong.
std::vector<fault> parse_faults(std::string_view text);

/// Returns a table in which `faults` happen. Throws outback::invalid_argument for a fault that
/// cannot happen (its slot is unknown, or it has a device but its slot names no device), and if
/// `outback::table_problem` refuses `below`.
const outback_runtime* inject(const outback_runtime* below, const std::vector<fault>& faults);

/// Replaces the faults of `injected`, a table from `inject`. All counts of calls start again, and
/// lost devices work again. Throws outback::invalid_argument, and changes nothing, for a fault that
/// cannot happen and if `injected` is not a table from `inject`.
void set_faults(const outback_runtime* injected, const std::vector<fault>& faults);

}  // namespace outback::layers
