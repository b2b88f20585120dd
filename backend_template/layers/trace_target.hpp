// Opens the file, pipe or terminal that a trace goes to. The path comes from the environment, and
// other users may have put something there, in /tmp for example.
#pragma once

#include <string>

namespace outback::layers {

/// What `open_trace_target` found.
struct trace_target {
  int fd = -1;               // close-on-exec, owned by the caller; -1 if it cannot be written
  bool is_file = false;      // a regular file, which is empty now and may be rewritten by pwrite
  std::string problem = {};  // why it cannot be written; "" if it can
};

/// Opens `path` for writing, and empties it if it is a regular file. Does not wait, for the reader
/// of a pipe for example. Throws std::bad_alloc only.
///
/// If the last part of `path` is a symbolic link it is refused, and so is a file with several names
/// (hard links): otherwise anybody who may write into the folder could make this process empty any
/// file of its user. A file or pipe of another user is refused, because its owner could read the
/// trace. A regular file gets the mode 0600, whatever the umask is and whatever mode it had. A name
/// of one of this process's own descriptors (/dev/stdout, /dev/stderr, /dev/fd/3, /proc/self/fd/3)
/// means that descriptor; it is duplicated, not emptied, and written where it stands.
trace_target open_trace_target(const std::string& path);

}  // namespace outback::layers
