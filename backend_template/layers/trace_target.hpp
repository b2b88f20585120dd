// Opening what a trace goes to: a path at which somebody else may have put something.
#pragma once

#include <string>

namespace outback::layers {

struct trace_target {
  int fd = -1;               // closed on exec; the caller's to close. -1: it cannot be written
  bool is_file = false;      // an ordinary one, which is empty now and may be rewritten
  std::string problem = {};  // why it cannot be written
};

/// Opens `path` for writing, and empties it if it is an ordinary file. Waits for nobody.
///
/// The last part of `path` is not followed if it is a symbolic link, and a file that has further
/// names is not touched: who may write into a folder, /tmp say, would have this process empty any
/// file of its user's. A name of one of this process's own descriptors (/dev/stdout, /dev/stderr,
/// /dev/fd/3, /proc/self/fd/3) is that descriptor, which goes on where it stands.
trace_target open_trace_target(const std::string& path);

}  // namespace outback::layers
