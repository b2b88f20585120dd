// The Python sources that are embedded in this library, module/_outback/, in the form that
// cmake/embed.py writes. This header includes nothing, so that the file with the sources compiles
// quickly after an edit.
#pragma once

namespace outback::python {

/// A source: its name, such as "compile/inductor", its text, and its compiled code in the format of
/// marshal.
struct embedded_source {
  const char* name;
  const char* text;
  const char* code;
  long code_size;  // in bytes
};

/// Every embedded source, ended by an entry with a null name, and the magic number of the Python
/// that compiled the sources.
extern const embedded_source embedded_sources[];
extern const long embedded_magic;

}  // namespace outback::python
