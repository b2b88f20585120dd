// The file that a trace goes to: a buffer in front of it, and an end that is always valid.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend_template/layers/fork_mutex.hpp"

namespace outback::layers {

/// May be used from any thread. Leaked, and flushed when the process ends.
class trace_file {
 public:
  enum class format { text, chrome };

  /// Overwrites `path`, as `open_trace_target` has it. Throws outback::invalid_argument if that is
  /// not possible.
  trace_file(const std::string& path, format kind);
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;

  /// Adds `entry`: one line without its end, or one JSON object. With `at_once`, all that there is
  /// is written.
  void add(std::string_view entry, bool at_once);
  void flush();
  /// Keeps nothing back from now on: the process is at its end.
  void end();

 private:
  std::string open();  // why it cannot be written, "" if it can
  void write_out();    // mutex_ is held
  void notice_fork();  // mutex_ is held

  fork_mutex mutex_;
  const format format_;
  std::string path_;
  int fd_ = -1;
  int64_t process_;
  std::string buffer_;
  int64_t end_ = 0;       // where the next entry goes, in a file that can be rewritten
  bool is_file_ = false;  // not a pipe, nor a terminal
  bool empty_ = true;     // no entry was written yet
  bool ended_ = false;
  std::chrono::steady_clock::time_point written_;
};

}  // namespace outback::layers
