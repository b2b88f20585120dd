#include "backend_template/module/program_place.h"
#include "backend_template/python/imported.h"

#include <c10/util/StringUtil.h>
#include <pybind11/pybind11.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace outback::python {
namespace {

// Whose the source of a line is.
enum class source_of_line : uint8_t {
  program,
  typed,  // without a file: from stdin, of python -c, or made by exec
  inner   // of torch's, or Outback's
};

// Guarded by the GIL, and leaked: operators may run until the process ends.
struct places {
  // By the code, a reference to which is kept, and the line in it.
  std::map<std::pair<PyObject*, int>, uint32_t> numbers;
  std::map<PyObject*, source_of_line> sources;  // each a reference
  std::vector<std::string> texts{""};
};
places& places_so_far() {
  static auto& kept = *new places;
  return kept;
}

std::string file_of(PyCodeObject* code) {
  const auto name = py::reinterpret_steal<py::object>(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "co_filename"));
  if (!name) throw py::error_already_set();
  // A file's name may have bytes that are no text.
  const auto text = py::reinterpret_steal<py::bytes>(
      PyUnicode_AsEncodedString(name.ptr(), "utf-8", "backslashreplace"));
  if (!text) throw py::error_already_set();
  return text;
}

// "/…/site-packages/torch/"; those of our own sources are "<torch.acme._outback>/…".
const std::string& folder_of_torch() {
  static const auto& folder = *[] {
    const auto file = import_module("torch").attr("__file__").cast<std::string>();
    return new std::string(file.substr(0, file.rfind('/') + 1));  // leaked
  }();
  return folder;
}

source_of_line source_of(const std::string& file) {
  if (file.starts_with(folder_of_torch())) return source_of_line::inner;
  if (!file.starts_with("<")) return source_of_line::program;
  const bool is_known = file.starts_with("<torch.") || file.starts_with("<frozen ");
  return is_known ? source_of_line::inner : source_of_line::typed;
}

source_of_line source_of(PyCodeObject* code) {
  auto* const key = reinterpret_cast<PyObject*>(code);
  if (const auto known = places_so_far().sources.find(key);
      known != places_so_far().sources.end()) {
    return known->second;
  }
  const source_of_line found = source_of(file_of(code));
  places_so_far().sources.emplace(py::reinterpret_borrow<py::object>(key).release().ptr(), found);
  return found;
}

uint32_t number_of(PyCodeObject* code, int line) {
  auto* const key = reinterpret_cast<PyObject*>(code);
  const auto [place, is_new] = places_so_far().numbers.try_emplace(
      {key, line}, static_cast<uint32_t>(places_so_far().texts.size()));
  if (is_new) {
    Py_INCREF(key);
    places_so_far().texts.push_back(c10::str(file_of(code), ":", line));
  }
  return place->second;
}

}  // namespace

uint32_t number_of_place() {
  // A thread without a state of Python's runs none; it need not get one.
  if (!Py_IsInitialized() || PyGILState_GetThisThreadState() == nullptr) return 0;
  const py::gil_scoped_acquire gil;
  uint32_t typed = 0;
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code =
        py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    auto* const of_frame = reinterpret_cast<PyCodeObject*>(code.ptr());
    const source_of_line from = source_of(of_frame);
    if (from != source_of_line::inner && (from == source_of_line::program || typed == 0)) {
      const uint32_t place = number_of(of_frame, PyFrame_GetLineNumber(raw));
      if (from == source_of_line::program) return place;
      typed = place;
    }
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return typed;
}

std::string text_of_place(uint32_t number) {
  return places_so_far().texts.at(number);
}

}  // namespace outback::python
