// The layer that records every call. outback/layers.hpp says what it promises; trace_file.hpp is
// the file.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/fork_mutex.hpp"
#include "backend_template/layers/layer.hpp"
#include "backend_template/layers/text.hpp"
#include "backend_template/layers/trace_file.hpp"
#include "outback/detail/utf8.hpp"
#include "outback/layers.hpp"

namespace outback::layers {
namespace {

using time_point = std::chrono::steady_clock::time_point;

// The number that debuggers and `top` show, unlike std::thread::id.
int64_t thread_number() {
  return int64_t(syscall(SYS_gettid));
}

// With a point, whatever the process's locale has there.
std::string fixed(double number, int digits) {
  char text[64];
  const auto [end, error] =
      std::to_chars(text, text + sizeof(text), number, std::chars_format::fixed, digits);
  return error == std::errc() ? std::string(text, end) : "0";
}

double microseconds(std::chrono::nanoseconds time) {
  return double(time.count()) / 1000;
}

// Prints the whole handle, which the other process gets too: so one can match the traces of both. A
// handle that is not whole may not be read.
std::string handle_text(const void* address) {
  const auto* handle = static_cast<const outback_ipc_handle*>(address);
  const bool whole = handle != nullptr && handle->struct_size >= sizeof(*handle) &&
                     handle->size <= sizeof(handle->bytes);
  if (!whole) return address_text(handle);
  return "[fd " + std::to_string(handle->fd) + ", " + std::to_string(handle->size) +
         " bytes: " + hex_text(handle->bytes, handle->size) + "]";
}

std::string count_text(const uint32_t (&counts)[3]) {
  return std::to_string(counts[0]) + "x" + std::to_string(counts[1]) + "x" +
         std::to_string(counts[2]);
}

// Prints device pointers as addresses and the beginning of other arguments as bytes. A launch that
// is not whole may not be read.
std::string launch_text(const void* address) {
  const auto* launch = static_cast<const outback_launch*>(address);
  const bool whole = launch != nullptr && launch->struct_size >= sizeof(*launch) &&
                     (launch->argument_count == 0 || launch->arguments != nullptr);
  if (!whole) return address_text(launch);
  std::string text =
      "[groups " + count_text(launch->groups) + " of items " + count_text(launch->items);
  if (launch->local_size != 0) text += ", local " + std::to_string(launch->local_size) + " bytes";
  constexpr uint32_t most_arguments = 32, most_bytes = 16;
  for (uint32_t i = 0; i < std::min(launch->argument_count, most_arguments); ++i) {
    const outback_argument& each = launch->arguments[i];
    text += i == 0 ? ": " : ", ";
    if (each.value == nullptr) {
      text += "null";
    } else if (each.is_memory != 0) {
      const void* ptr = nullptr;
      std::memcpy(&ptr, each.value, sizeof(ptr));
      text += address_text(ptr);
    } else {
      const auto* bytes = static_cast<const uint8_t*>(each.value);
      text += "bytes " + hex_text(bytes, std::min(each.size, most_bytes));
      if (each.size > most_bytes) text += "... of " + std::to_string(each.size);
    }
  }
  return text + (launch->argument_count > most_arguments ? ", ...]" : "]");
}

std::string value_text(form type, word value) {
  switch (type) {
    case form::integer:
      return std::to_string(int64_t(value.number()));
    case form::natural:
      return std::to_string(value.number());
    case form::ipc_handle:
      return handle_text(value.address());
    case form::launch:
      return launch_text(value.address());
    default:
      return address_text(value.address());
  }
}

// Builds a list of arguments or results: `name=value, ...`, or `"name": value, ...` in JSON.
class values {
 public:
  explicit values(bool json) : json_(json) {}

  void add(const char* name, form type, word value) {
    // Addresses are hexadecimal, which JSON knows only as strings.
    const bool bare = !json_ || type == form::integer || type == form::natural;
    add_name(name);
    if (!bare) text_ += '"';
    text_ += value_text(type, value);
    if (!bare) text_ += '"';
  }
  void add_text(const char* name, std::string_view text) {
    add_name(name);
    text_ += '"';
    text_ += json_escaped(text);
    text_ += '"';
  }
  const std::string& text() const { return text_; }

 private:
  void add_name(const char* name) {
    if (!text_.empty()) text_ += ", ";
    if (json_) text_ += '"';
    text_ += name;
    text_ += json_ ? "\": " : "=";
  }

  const bool json_;
  std::string text_;
};

// The names of the kernels that callers asked for. Thread-safe.
class kernel_names {
 public:
  void keep(int32_t device, outback_module, const char* name,
            const outback_kernel* kernel) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      names_[{device, *kernel}] = name;
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // There is no memory for the name, so launches of the kernel are traced without a name.
    }
  }
  std::string of(int32_t device, const void* kernel) const {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find({device, kernel});
    return found == names_.end() ? "?" : found->second;
  }

 private:
  mutable fork_mutex mutex_;
  std::map<std::pair<int32_t, const void*>, std::string> names_;
};

class tracer : public layer<tracer> {
 public:
  tracer(const outback_runtime& below, const std::string& path)
      : layer(below),
        json_(path.ends_with(".json")),
        file_(path, json_ ? trace_file::format::chrome : trace_file::format::text) {}

  template <class Slot, class... Args>
  outback_status call(Args... args) {
    // Nothing else between the two times: the entry is made afterwards.
    const time_point begin = std::chrono::steady_clock::now();
    const outback_status status = below<Slot>(args...);
    const time_point end = std::chrono::steady_clock::now();
    record({slot_facts_of<Slot>, {args...}}, begin, end, status);
    if constexpr (std::is_same_v<Slot, slots::kernel_of>) {
      if (status == OUTBACK_OK) names_.keep(args...);
    }
    return status;
  }

  void flush() { file_.flush(); }

 private:
  // Throws nothing: the call is done, and its answer must reach the caller.
  void record(const any_call& call, time_point begin, time_point end,
              outback_status status) noexcept {
    try {
      values given(json_), results(json_);
      for_each_argument(call, [&](const parameter& p, word value) {
        if (!is_output(p.is)) {
          const auto* text = static_cast<const char*>(value.address());
          const bool is_text = p.type == form::text && text != nullptr;
          if (is_text) return given.add_text(p.name, text);
          given.add(p.name, p.type, value);
          if (p.kind == handle_name<outback_kernel>) {
            given.add_text("name", names_.of(call.words[0].device(), value.address()));
          }
          return;
        }
        if (status == OUTBACK_OK) add_result(results, p, value);  // otherwise nothing was written
      });
      const bool failed = status != OUTBACK_OK && status != OUTBACK_NOT_READY;
      write(call.slot.name, begin, end, status, given, results, failed ? error_below() : "");
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // There is no memory for the entry, so it is left out.
    }
  }

  // Leaves out structs other than IPC handles, so that an entry stays short.
  static void add_result(values& results, const parameter& p, word output) {
    if (p.type == form::ipc_handle) {
      results.add(p.name, p.type, output);
    } else if (p.type != form::structure && output.address() != nullptr) {
      results.add(p.name, p.type, word_at(output.address(), p));
    }
  }

  void write(const char* slot, time_point begin, time_point end, outback_status status,
             const values& given, values& results, std::string_view error) {
    const char* known = status_name(status);
    const std::string answer = known != nullptr ? known : "status " + std::to_string(status);
    const std::string thread = std::to_string(thread_number());
    const double start = microseconds(begin - begin_), duration = microseconds(end - begin);
    std::string entry;
    if (json_) {
      std::string all = given.text();
      if (!all.empty() && !results.text().empty()) all += ", ";
      all += results.text();
      values last(true);
      last.add_text("status", answer);
      if (!error.empty()) last.add_text("error", error);
      // A "complete event" of the Trace Event Format; times are in microseconds.
      entry = "{\"name\": \"" + std::string(slot) + R"(", "cat": "outback", "ph": "X", "ts": )" +
              fixed(start, 3) + ", \"dur\": " + fixed(duration, 3) +
              ", \"pid\": " + std::to_string(getpid()) + ", \"tid\": " + thread + ", \"args\": {" +
              all + (all.empty() ? "" : ", ") + last.text() + "}}";
    } else {
      entry = fixed(start / 1e6, 6) + " " + thread + " " + slot + "(" + given.text() +
              ") = " + answer + (results.text().empty() ? "" : " (" + results.text() + ")") +
              (error.empty() ? "" : ": " + outback::detail::printable(error)) + ", " +
              fixed(duration, 3) + " us";
    }
    // A failure is written at once: it may be the last call before a crash.
    file_.add(entry, known == nullptr || status > OUTBACK_NOT_READY);
  }

  const bool json_;  // a Chrome trace
  const time_point begin_ = std::chrono::steady_clock::now();
  trace_file file_;
  kernel_names names_;
};

}  // namespace

const outback_runtime* trace(const outback_runtime* below, const std::string& path) {
  check_table(below);
  return (new tracer(*below, path))->table();
}

void flush_trace(const outback_runtime* traced) {
  tracer* found = tracer::of(traced);
  if (found == nullptr) throw invalid_argument("flush_trace: this is no table of trace()");
  found->flush();
}

}  // namespace outback::layers
