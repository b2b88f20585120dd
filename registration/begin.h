// A registration in two parts. An import does what it has to do in Python between them, and nobody
// can see the backend until it is whole.
#pragma once

#include "outback/backend.h"

namespace outback::registration {

/// What registers the operators, which takes longer than all else. It calls no slot and does not
/// need Python.
enum class operators_by {
  caller,  // in `finish`
  // From now on. The caller does it all the same where the process has one core, may have no more
  // threads, or has a limited address space, of which a thread takes a lot. Not for static
  // initializers: while a library is loaded, a new thread may have to wait for the loader.
  thread
};

/// Checks the options and begins to register the operators. Throws what register_backend throws.
/// Does nothing if the backend is registered, or if somebody has begun already. Thread-safe.
void begin(const backend_options& options, operators_by whom);

/// Waits for the operators, and registers the rest. Throws what the registration of the operators
/// threw, at each call. After `begin`, with the same options. Thread-safe.
void finish(const backend_options& options);

/// Waits for the thread that `begin` has made, if there is one. For the end of an import that
/// failed, and for a fork: of a thread's locks the child would have those that are taken.
void wait_for_operators() noexcept;

}  // namespace outback::registration
