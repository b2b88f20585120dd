// The sources in Python that are a part of this library, module/_outback/, as cmake/embed.py
// writes them down. Includes nothing, so that an edit of a source is compiled at once.
#pragma once

namespace outback::python {

/// A source: "compile/inductor", the text of compile/inductor.py, and what Python compiles it to,
/// as marshal writes it.
struct embedded_source {
  const char* name;
  const char* text;
  const char* code;
  long code_size;  // in bytes
};

/// All of them, the last one a null name, and the magic number of the Python that compiled them.
extern const embedded_source embedded_sources[];
extern const long embedded_magic;

}  // namespace outback::python
