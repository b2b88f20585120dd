// The tests run in a process of their own, and another one looks at how that ends. A runtime that
// calls _exit(0), or becomes another program, would pass otherwise: no test after that runs, and
// nothing is left in the process that could say so.
#pragma once

#include <optional>

namespace outback::suite {

/// For main(), before anything is asked of a runtime: starts the process of the tests, waits until
/// it ends and answers the exit status, which is its own where it came to `end_watched`. Answers
/// nothing in the process of the tests, with its arguments in `argc` and `argv`.
///
/// There is one process where a debugger runs the program: who looks on is there already.
///
/// What is told on stderr is what nobody else told (`tell_watching`). A signal that ended the tests
/// ends this process too.
std::optional<int> run_watched(int& argc, char** argv);

/// For main(), at its end: the tests are over, and `status` is what the process is going to end
/// with. Answers it.
int end_watched(int status);

/// What the process of the tests does from now on, as `begin_guarded` has it; null: nothing.
void show_watching(const char* doing);
/// That somebody in the process of the tests has said why it ends. Async-signal-safe.
void tell_watching();

}  // namespace outback::suite
