// Opens the file, pipe or terminal for a trace. The path comes from the environment, and other
// users may have put a file or link there, in /tmp for example.
#pragma once

#include <string>

namespace outback::layers {

/// The result of `open_trace_target`.
struct trace_target {
  int fd = -1;               // close-on-exec, owned by the caller; -1 if it cannot be written
  bool is_file = false;      // a regular file, now empty, which pwrite may rewrite
  std::string problem = {};  // why the path cannot be written; "" if it can
};

/// Opens `path` for writing, and empties a regular file. Never waits, not even for the reader of a
/// pipe. Throws only std::bad_alloc.
///
/// Refuses a `path` whose last part is a symbolic link, and a file with several names (hard links):
/// otherwise anybody who may write into the folder could make this process empty any file of its
/// user. Refuses a file or pipe of another user, because its owner could read the trace. A regular
/// file gets the mode 0600, whatever the umask and its old mode are. A name of one of this
/// process's own descriptors (/dev/stdout, /dev/stderr, /dev/fd/3, /proc/self/fd/3) means that
/// descriptor: the function duplicates it, does not empty its file, and keeps its position.
trace_target open_trace_target(const std::string& path);

}  // namespace outback::layers
