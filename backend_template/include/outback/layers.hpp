// Layers over a runtime: tables that check, record or disturb what goes through them. No torch.
//
// Each layer is one more `outback_runtime` over any other, and has the groups that the other has.
// Nobody has to know that it is there: a program, or a backend, takes its table instead.
//
//   const outback_runtime* table = outback::layers::from_environment(outback::table_of(device));
//
//   OUTBACK_VALIDATE=1            every call is checked: arguments, ownership, use after free, lost
//                                 devices, and what the runtime answers. What is still
//                                 allocated when the process ends is told on stderr.
//   OUTBACK_TRACE=calls.json      every call is recorded: thread, arguments, status, duration. A
//                                 name that ends in .json gets a Chrome trace (chrome://tracing,
//                                 ui.perfetto.dev), any other a line of text for each call.
//   OUTBACK_FAULTS=mem_alloc:3=out_of_memory
//                                 calls fail, take longer, or lose their device; see
//                                 `parse_faults` for the grammar.
//
// Without these variables `from_environment` answers the table that it was given, and nothing is
// paid. A layer costs a lock and some bookkeeping for each call (validation), a line of text
// (trace), or a look at the rules (faults).
//
//   Order      The caller, trace, validation, faults, the runtime. So the trace shows what the
//              caller asked for and got, refusals and injected faults too; and a call that
//              validation refuses is no call that faults count. Validation itself asks the runtime
//              for its devices without faults in between: the n-th call is the caller's n-th.
//              A registered backend puts the devices that its environment selects around all of
//              these, which therefore say, and are told, the runtime's own numbers.
//   Lifetime   Tables are leaked on purpose: they, and what they are made of, live until the
//              process ends, as a runtime's does. The table below is copied, its `self` is not.
//   Threads    All functions, and the slots of all layers, may be called from any thread. No lock
//              of a layer is held while a slot below runs. In a forked child validation goes on;
//              a trace goes on in a file of its own, with the process's number before the
//              extension, from the child's first call on. A terminal or a pipe takes the calls of
//              both.
//   Errors     The functions below throw outback::invalid_argument with the value, and what was
//              expected of it. The slots throw nothing; last_error of a layer's table answers the
//              text of whichever table below it failed last, for the calling thread.
//   Whole      Everything has to go through the outermost table from the beginning on: a layer does
//              not know what was made behind its back.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "outback/runtime.h"

namespace outback::layers {

/// The layers that the environment asks for, over `below`; `below` itself if it asks for none.
///
/// All variables are read before anything is made, and a malformed one throws. So does a `below`
/// that `outback::table_problem` refuses, if there is to be a layer over it.
const outback_runtime* from_environment(const outback_runtime* below);

// ---- Visible devices

/// The devices of `below` that `list` names, in its order, as torch.cuda reads
/// CUDA_VISIBLE_DEVICES: numbers ("1,0"; what follows a number is ignored), or beginnings of UUIDs
/// after "GPU-" ("GPU-4af1,GPU-07"), with commas between them. An entry that names no device, or
/// several, ends the list; one that names a device again empties it.
///
/// Counts the devices; asks for their properties only where `list` begins with a UUID. Throws
/// outback::runtime_error with what a slot answered.
std::vector<int32_t> parse_visible_devices(const outback_runtime* below, std::string_view list);

/// A table that has only these devices of `below`, and numbers them from 0 on in this order. Throws
/// outback::invalid_argument for a device that there is not, or that is named twice.
///
/// Texts of `last_error` say the numbers of the table below.
const outback_runtime* select_devices(const outback_runtime* below,
                                      const std::vector<int32_t>& devices);

// ---- Validation

struct validation_options {
  /// Whom to ask for the number and the properties of devices, and whether a stream is in a
  /// capture. Null: the table below.
  const outback_runtime* devices = nullptr;
  /// Writes `leaks` to stderr when the process that made the layer ends, unless there are none.
  bool report_at_exit = false;
};

/// A table that checks each call before the table below gets it, and the answer after.
///
/// What the caller did wrong is OUTBACK_INVALID_ARGUMENT, and the runtime is not called. The text
/// names the slot, the argument, its value and what was expected:
///
///   validation: mem_free: ptr is 0x7f0000001000: expected an allocation of device 0; it was freed
///   already (object 3)
///
/// What the runtime did wrong is OUTBACK_INTERNAL, and the caller's outputs stay as they were: a
/// failed call that wrote its outputs, OUTBACK_OK with a null result or with none, memory that is
/// misaligned or given out already, a number of devices that changes, properties that cannot be
/// (outback/answer_check.hpp), a status that the slot may not answer.
///
/// What opens and closes has to match: a registration and its removal, memory of another process
/// and its closing, as often, a capture and its end, and then instantiate, once, before launch.
/// What another process allocated is no allocation here, so mem_free refuses it.
///
/// After OUTBACK_DEVICE_LOST every call on that device answers it again, without the runtime. A
/// copy between two devices does not say which one is gone: the next call that names one will.
///
/// Not seen: a copy or fill of freed memory where the device has OUTBACK_ADDRESSES_HOST, for it may
/// be the host's by now; with the host runtime, OUTBACK_HOST_ADDRESSABLE=0 shows it. Nor whether
/// the memory is there still that a graph reads and writes, and what breaks a capture: the runtime
/// answers that.
const outback_runtime* validate(const outback_runtime* below,
                                const validation_options& options = {});

/// What was allocated and created through `validated`, a table from `validate`, and has not gone:
/// a paragraph for each kind and device. "" if there is nothing. What a lost device had is gone.
std::string leaks(const outback_runtime* validated);

/// Whether a table of this process has `report_at_exit`. Whoever keeps memory above the layers for
/// its next use gives it back before the report: in a function that std::atexit got after the layer
/// was made.
bool tells_leaks_at_exit() noexcept;

/// The owner keeps `stream` until the process ends, and means to: it is no leak, of whichever table
/// it is.
void keep_until_exit(outback_stream stream);

// ---- Trace

/// A table that writes each call to `path`, which is overwritten. Throws if it cannot be.
///
/// A symbolic link is not followed, and a file with several names not overwritten: where others may
/// write into the folder, it would be their choice what is lost. /dev/stderr, /dev/stdout and
/// /dev/fd/<number> are this process's own.
///
/// Times are those of the call of the table below. Lines are written by and by: at the latest a
/// quarter of a second after the call when others follow, at once when a call fails, and at exit.
/// A Chrome trace is valid JSON after each time, whatever becomes of the process.
const outback_runtime* trace(const outback_runtime* below, const std::string& path);

/// Writes what `traced`, a table from `trace`, has kept back.
void flush_trace(const outback_runtime* traced);

// ---- Faults

struct fault {
  static constexpr int32_t any_device = -2;

  /// As in the header (mem_alloc, streams.sync) or as in outback/runtime.hpp (stream_sync); "*" is
  /// all slots.
  std::string slot = "*";
  /// Which calls: the `first` one, from 1, and every `every`-th after it; 0: only the first.
  uint64_t first = 1;
  uint64_t every = 0;
  /// Counts only calls that name this device.
  int32_t device = any_device;
  /// The calling thread sleeps before anything else happens.
  std::chrono::nanoseconds delay{0};
  /// OUTBACK_OK: the runtime gets the call. Otherwise it does not, and this is the answer.
  /// OUTBACK_DEVICE_LOST stays: from then on all calls that name the device fail with it. The
  /// device is `device`, or the one whose stream the call would use. graphs.end ends the capture
  /// although it fails.
  outback_status status = OUTBACK_OK;
};

/// The faults that a text stands for, with `;` between them and spaces where one likes:
///
///   <slot>:<which>=<what>             mem_alloc:3=out_of_memory     the third allocation
///   <slot>:<which>=<what>@<device>    mem_copy:10=device_lost@1     the tenth copy to or from
///                                                                   device 1, and all that follows
///   which   3      that call              what   invalid_argument, out_of_memory, device_lost,
///           3+     that one and all after        unsupported, internal
///           *      every call                    not_ready, of streams.query, events.query and
///           */5    every fifth                             events.elapsed
///                                                delay(5ms), with ns, us, ms or s; up to an hour
///
/// Several faults of one slot count for themselves; of those that meet in one call, all delays and
/// the first status take effect. Throws with the place where `text` is wrong.
std::vector<fault> parse_faults(std::string_view text);

/// A table in which `faults` happen. Throws for a fault that cannot: of no slot, or of a device
/// where the slot names none.
const outback_runtime* inject(const outback_runtime* below, const std::vector<fault>& faults);

/// Other faults from now on, counted from their first call; lost devices are back. `injected` is a
/// table from `inject`.
void set_faults(const outback_runtime* injected, const std::vector<fault>& faults);

}  // namespace outback::layers
