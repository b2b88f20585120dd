// The layer that records every call; what it promises is told in outback/layers.hpp.
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/layer.hpp"
#include "backend_template/layers/make.hpp"
#include "backend_template/layers/outputs.hpp"
#include "backend_template/layers/text.hpp"
#include "backend_template/layers/trace_file.hpp"
#include "outback/layers.hpp"

namespace outback::layers {
namespace {

using time_point = std::chrono::steady_clock::time_point;

int64_t thread_number() {
  return int64_t(syscall(SYS_gettid));
}

std::string fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, number);
  return text;
}

double microseconds(std::chrono::nanoseconds time) {
  return double(time.count()) / 1000;
}

// What the other process has to get, so that the two traces can be read together.
std::string value_text(const outback_ipc_handle* handle) {
  const bool whole = handle != nullptr && handle->struct_size >= sizeof(*handle) &&
                     handle->size <= sizeof(handle->bytes);
  if (!whole) return address_text(handle);
  return "[fd " + std::to_string(handle->fd) + ", " + std::to_string(handle->size) +
         " bytes: " + hex_text(handle->bytes, handle->size) + "]";
}

template <class T>
std::string value_text(T value) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    return address_text(reinterpret_cast<const void*>(value));
  }
}

// Arguments, and results of a call that succeeded, as text: `name=value, ...`, and in JSON.
class values {
 public:
  explicit values(bool json) : json_(json) {}

  template <class T>
  void add(const char* name, T value) {
    if (!text_.empty()) text_ += ", ";
    const bool bare = !json_ || std::is_integral_v<T>;
    text_ += json_ ? "\"" + std::string(name) + "\": " : std::string(name) + "=";
    text_ += bare ? value_text(value) : "\"" + value_text(value) + "\"";
  }
  void add_text(const char* name, std::string_view text) {
    if (!text_.empty()) text_ += ", ";
    text_ += "\"" + std::string(name) + "\": \"" + json_escaped(text) + "\"";
  }
  const std::string& text() const { return text_; }

 private:
  const bool json_;
  std::string text_;
};

class tracer : public layer<tracer> {
 public:
  tracer(const outback_runtime& below, const std::string& path)
      : layer(below),
        json_(path.ends_with(".json")),
        file_(path, json_ ? trace_file::format::chrome : trace_file::format::text) {}

  template <class Slot, class... Args>
  outback_status call(Args... args) {
    const time_point begin = std::chrono::steady_clock::now();
    const outback_status status = below<Slot>(args...);
    const time_point end = std::chrono::steady_clock::now();
    try {
      record<Slot>(begin, end, status, args...);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // No memory for the entry: the call is over, and its answer stands.
    }
    return status;
  }

  void flush() { file_.flush(); }

 private:
  template <class Slot, class... Args>
  void record(time_point begin, time_point end, outback_status status, Args... args) {
    values given(json_), results(json_);
    for_each_argument<Slot>(
        [&](argument a, auto value) {
          if (!is_output(a.is)) return given.add(a.name, value);
          if (status != OUTBACK_OK) return;
          if constexpr (has_plain_result<decltype(value)>) {
            if (value != nullptr) results.add(a.name, *value);
          } else if constexpr (std::is_same_v<decltype(value), outback_ipc_handle*>) {
            results.add(a.name, static_cast<const outback_ipc_handle*>(value));
          }
        },
        args...);
    const bool failed = status != OUTBACK_OK && status != OUTBACK_NOT_READY;
    write(Slot::name, begin, end, status, given, results, failed ? error_below() : "");
  }

  template <class T>
  static constexpr bool has_plain_result =
      std::is_pointer_v<T> &&
      (std::is_integral_v<std::remove_pointer_t<T>> || std::is_pointer_v<std::remove_pointer_t<T>>);

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
      entry = "{\"name\": \"" + std::string(slot) + R"(", "cat": "outback", "ph": "X", "ts": )" +
              fixed(start, 3) + ", \"dur\": " + fixed(duration, 3) +
              ", \"pid\": " + std::to_string(getpid()) + ", \"tid\": " + thread + ", \"args\": {" +
              all + (all.empty() ? "" : ", ") + last.text() + "}}";
    } else {
      entry = fixed(start / 1e6, 6) + " " + thread + " " + slot + "(" + given.text() +
              ") = " + answer + (results.text().empty() ? "" : " (" + results.text() + ")") +
              (error.empty() ? "" : ": " + in_one_line(error)) + ", " + fixed(duration, 3) + " us";
    }
    file_.add(entry, known == nullptr || status > OUTBACK_NOT_READY);
  }

  const bool json_;
  const time_point begin_ = std::chrono::steady_clock::now();
  trace_file file_;
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
