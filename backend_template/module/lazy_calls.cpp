#include "backend_template/module/lazy_calls.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend_template/core/devices/lazy_start.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

struct queued_call {
  py::object callable;
  std::string queued_at;
};

// Guarded by the GIL, except for `is_running`. Leaked: a call may be queued until the process ends.
struct lazy_queue {
  std::vector<queued_call> calls;
  // Of each kind of seed only the last one runs, after all other calls, as in
  // torch.cuda._lazy_call.
  std::optional<queued_call> seed, seed_all;
  bool seed_all_is_later = false;
  py::object error_type;

  // Changing is_running takes the GIL and this mutex; waiting for it takes the mutex alone.
  std::mutex mutex;
  std::condition_variable stopped;
  bool is_running = false;
};

lazy_queue& queue() {
  static auto& all = *new lazy_queue;
  return all;
}

thread_local bool runs_here = false;

void set_running(bool running) {
  {
    const std::lock_guard<std::mutex> lock(queue().mutex);
    queue().is_running = running;
  }
  runs_here = running;
  if (!running) queue().stopped.notify_all();
}

void wait_for_other_thread() {
  const py::gil_scoped_release no_gil;
  std::unique_lock<std::mutex> lock(queue().mutex);
  queue().stopped.wait(lock, [] { return !queue().is_running; });
}

// The later of the two kinds runs last, so that its seed is the one that stays.
void append_seeds() {
  lazy_queue& waiting = queue();
  const auto append = [&](std::optional<queued_call>& call) {
    if (call) waiting.calls.push_back(*std::exchange(call, std::nullopt));
  };
  if (waiting.seed_all_is_later) append(waiting.seed);
  append(waiting.seed_all);
  append(waiting.seed);
}

void run(const queued_call& call) {
  try {
    call.callable();
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;  // KeyboardInterrupt and SystemExit go on
    const std::string& name = backend_name();
    const std::string text = name + " call failed lazily at initialization with error: " +
                             std::string(py::str(error.value())) + "\n\n" + name +
                             " call was originally invoked at:\n\n" + call.queued_at;
    py::raise_from(error, queue().error_type.ptr(), text.c_str());
    throw py::error_already_set();
  }
}

std::string stack_now() {
  const py::module_ traceback = py::module_::import("traceback");
  return py::str("").attr("join")(traceback.attr("format_stack")()).cast<std::string>();
}

void lazy_call(py::object callable, const py::kwargs& kind) {
  if (core::is_started() && !has_lazy_calls()) {
    callable();
    return;
  }
  const auto is = [&](const char* name) { return kind.contains(name) && kind[name].cast<bool>(); };
  queued_call call{std::move(callable), stack_now()};
  lazy_queue& waiting = queue();
  if (is("seed_all")) {
    waiting.seed_all = std::move(call);
    waiting.seed_all_is_later = true;
  } else if (is("seed")) {
    waiting.seed = std::move(call);
    waiting.seed_all_is_later = false;
  } else {
    waiting.calls.push_back(std::move(call));
  }
}

}  // namespace

bool has_lazy_calls() {
  const lazy_queue& waiting = queue();
  return !waiting.calls.empty() || waiting.seed || waiting.seed_all;
}

bool is_in_lazy_call() {
  return runs_here;
}

void run_lazy_calls() {
  while (has_lazy_calls()) {
    if (queue().is_running) {
      wait_for_other_thread();
      continue;
    }
    struct running {
      running() { set_running(true); }
      ~running() { set_running(false); }
    } const guard;
    append_seeds();
    // By index, since a call may queue others and so make the vector grow.
    for (size_t i = 0; i < queue().calls.size(); ++i) {
      const queued_call call = queue().calls[i];  // a copy, for the same reason
      run(call);
    }
    queue().calls.clear();
  }
}

void define_lazy_calls(py::module_& module) {
  queue().error_type = py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(
      ("torch." + backend_name() + ".DeferredCallError").c_str(),
      "A call that was queued until the backend's start has failed; the text shows where it was "
      "queued.",
      nullptr, nullptr));
  if (!queue().error_type) throw py::error_already_set();
  module.attr("DeferredCallError") = queue().error_type;
  module.def("_lazy_call", &lazy_call, py::arg("callable"),
             py::doc("Calls it now if the backend is started, else at its start."));
}

}  // namespace outback::python
