#include "backend_template/python/gil.h"

#include <Python.h>

#include "backend_template/core/runtime/interpreter_lock.h"

namespace outback::python {
namespace {

// PyGILState_Check says yes in a process whose interpreter has ended, so that is asked first.
void* release() noexcept {
  return Py_IsInitialized() != 0 && PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr;
}

void restore(void* released) noexcept {
  PyEval_RestoreThread(static_cast<PyThreadState*>(released));
}

constexpr core::interpreter_lock gil{&release, &restore};

}  // namespace

void give_up_gil_in_waits() {
  core::set_interpreter_lock(gil);
}

}  // namespace outback::python
