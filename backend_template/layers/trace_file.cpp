#include "backend_template/layers/trace_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "backend_template/layers/kept_list.hpp"
#include "backend_template/layers/trace_target.hpp"
#include "outback/runtime_error.hpp"

namespace outback::layers {
namespace {

// The buffer is written when it has this many bytes, or at the first entry after this time.
constexpr std::size_t most_kept = std::size_t{64} << 10;
constexpr auto longest_kept = std::chrono::milliseconds(250);

// All files of the process, for std::atexit.
kept_list<trace_file*>& every_file() {
  static auto& files = *new kept_list<trace_file*>;
  return files;
}

void end_all() {
  for (trace_file* file : every_file().all()) file->end();
}

// Returns the name of a forked child's own file: "calls.123.json" for "calls.json".
std::string with_number(const std::string& path, int64_t number) {
  const std::size_t dot = path.rfind('.');
  const std::size_t slash = path.rfind('/');
  const bool has_extension =
      dot != std::string::npos && dot > 0 && (slash == std::string::npos || dot > slash + 1);
  const std::size_t at = has_extension ? dot : path.size();
  return path.substr(0, at) + "." + std::to_string(number) + path.substr(at);
}

// A forked child makes its own path of this one, and may be in another directory by then.
std::string absolute(const std::string& path) {
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).string();
  return error ? path : whole;
}

}  // namespace

trace_file::trace_file(const std::string& path, format kind)
    : format_(kind), path_(absolute(path)), process_(getpid()) {
  if (const std::string problem = open(); !problem.empty()) {
    throw invalid_argument("the trace \"" + path + "\" cannot be written: " + problem);
  }
  if (every_file().add(this)) std::atexit(&end_all);
}

std::string trace_file::open() {
  const trace_target target = open_trace_target(path_);
  fd_ = target.fd;
  is_file_ = target.is_file;
  end_ = 0;
  empty_ = true;
  written_ = {};
  if (fd_ >= 0) write_out();
  return target.problem;
}

void trace_file::notice_fork() {
  if (process_ == getpid()) return;
  process_ = getpid();
  buffer_.clear();        // the parent writes these entries
  if (!is_file_) return;  // both processes write to a terminal or a pipe
  path_ = with_number(path_, process_);
  ::close(fd_);
  open();  // if it fails, nothing is recorded: a trace is no reason to fail a call
}

void trace_file::add(std::string_view entry, bool at_once) {
  const std::lock_guard lock(mutex_);
  notice_fork();
  if (format_ == format::chrome) buffer_ += empty_ ? "\n" : ",\n";
  buffer_ += entry;
  if (format_ == format::text) buffer_ += '\n';
  empty_ = false;
  if (at_once || ended_ || buffer_.size() >= most_kept ||
      std::chrono::steady_clock::now() - written_ >= longest_kept) {
    write_out();
  }
}

void trace_file::flush() {
  const std::lock_guard lock(mutex_);
  if (process_ == getpid()) write_out();  // a child that recorded nothing gets no file
}

void trace_file::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  flush();
}

void trace_file::write_out() {
  // The first writing, from open(), begins the file.
  std::string text;
  if (end_ == 0) {
    text = format_ == format::chrome
               ? "["
               : "# outback trace: seconds since the first call, thread, slot(arguments) = status "
                 "(results): text, duration in microseconds\n";
  }
  text += buffer_;
  buffer_.clear();
  const int64_t begin = end_;
  end_ += int64_t(text.size());
  // A regular file gets the end of the JSON array each time, and the next entries overwrite it:
  // end_ is where it begins. A pipe cannot be rewritten and gets no end, which readers of Chrome
  // traces accept.
  if (format_ == format::chrome && is_file_) text += "\n]\n";
  std::size_t done = 0;
  while (done < text.size() && fd_ >= 0) {
    const ssize_t count =
        is_file_ ? ::pwrite(fd_, text.data() + done, text.size() - done, begin + int64_t(done))
                 : ::write(fd_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;  // a full disk ends the trace, not the program
    done += std::size_t(count);
  }
  written_ = std::chrono::steady_clock::now();
}

}  // namespace outback::layers
