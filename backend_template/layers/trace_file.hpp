// The file of a trace, with a buffer. After each write the file is complete, so that a Chrome trace
// is valid JSON even if the process is killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend_template/layers/fork_mutex.hpp"

namespace outback::layers {

/// Thread-safe. Leak each object: a function of std::atexit flushes all trace files when the
/// process ends.
class trace_file {
 public:
  enum class format { text, chrome };

  /// Opens and empties `path` with `open_trace_target`, and writes the beginning of the trace. A
  /// relative path is resolved in the current directory of this call. Throws
  /// outback::invalid_argument if the file cannot be written.
  trace_file(const std::string& path, format kind);
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;

  /// Adds `entry`: one line without the newline, or one JSON object. With `at_once`, also writes
  /// the buffer. Ignores a failure to write, such as a full disk. In a forked child, the first
  /// entry opens the child's own file.
  void add(std::string_view entry, bool at_once);
  /// Writes the buffer. Does nothing in a forked child that has not added an entry.
  void flush();
  /// Writes the buffer, and from now on writes each entry at once, because the process is about to
  /// end.
  void end();

 private:
  // Opens the file. Returns the reason if it cannot be written, otherwise "".
  std::string open();
  // The caller holds mutex_ for these.
  void write_out();
  void notice_fork();

  fork_mutex mutex_;
  const format format_;
  std::string path_;
  int fd_ = -1;
  int64_t process_;  // the process that opened the file
  std::string buffer_;
  int64_t end_ = 0;       // the offset at which the next entry is written
  bool is_file_ = false;  // a regular file, not a pipe or a terminal
  bool empty_ = true;     // no entry was added yet
  bool ended_ = false;    // `end` was called
  std::chrono::steady_clock::time_point written_;
};

}  // namespace outback::layers
