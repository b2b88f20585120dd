// The file that a trace goes to, with a buffer in front of it. After each writing the file is
// complete, so that a Chrome trace is valid JSON even if the process is killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend_template/layers/fork_mutex.hpp"

namespace outback::layers {

/// Thread-safe. Must be leaked: std::atexit flushes all of them when the process ends.
class trace_file {
 public:
  enum class format { text, chrome };

  /// Opens and empties `path` by `open_trace_target`, and writes the beginning. A relative path is
  /// that of the current directory of now. Throws outback::invalid_argument if the file cannot be
  /// written.
  trace_file(const std::string& path, format kind);
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;

  /// Adds `entry`: one line without its end, or one JSON object. With `at_once` the buffer is
  /// written too. A failure to write, such as a full disk, is ignored. In a forked child, the first
  /// entry goes to a file of the child's own.
  void add(std::string_view entry, bool at_once);
  /// Writes the buffer. Does nothing in a forked child that has added nothing.
  void flush();
  /// Writes the buffer, and from now on each entry at once: the process is about to end.
  void end();

 private:
  // Returns why the file cannot be written, "" if it can.
  std::string open();
  // Both need mutex_.
  void write_out();
  void notice_fork();

  fork_mutex mutex_;
  const format format_;
  std::string path_;
  int fd_ = -1;
  int64_t process_;  // that opened the file
  std::string buffer_;
  int64_t end_ = 0;       // the offset at which the next entry is written
  bool is_file_ = false;  // a regular file, no pipe and no terminal
  bool empty_ = true;     // no entry was added yet
  bool ended_ = false;    // `end` was called
  std::chrono::steady_clock::time_point written_;
};

}  // namespace outback::layers
