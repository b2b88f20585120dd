// The race finder (core/races/race_finder.h), for _outback/sanitizer.py.
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend_template/core/races/race_finder.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/module/device_module.h"
#include "backend_template/ops/operator_table.h"
#include "backend_template/python/device_argument.h"

namespace py = pybind11;

namespace outback::python {
namespace {

void* native_stream_of(const c10::Stream& stream) {
  if (core::runtime().native == nullptr || core::twins_stream(stream)) return nullptr;
  return core::native_stream(stream);
}

void look_for_races(bool on) {
  core::set_race_finder(on ? std::make_unique<core::race_finder>(&native_stream_of) : nullptr);
}

core::race_finder& finder() {
  core::race_finder* const active = core::active_race_finder();
  TORCH_CHECK(active != nullptr, backend_name(), ": nobody looks for races: call enable() first");
  return *active;
}

// (the earlier operator's number, whether it wrote, its stream)
py::list tuples_of(const std::vector<core::race>& races) {
  py::list made;
  for (const core::race& each : races) {
    made.append(py::make_tuple(each.earlier, each.earlier_wrote, each.earlier_stream));
  }
  return made;
}

using running = std::pair<uint64_t, size_t>;

running begin(c10::DeviceIndex device) {
  const auto [number, agent] = finder().begin(core::current_stream(device));
  return {number, agent};
}

py::list access(running now, const at::Tensor& tensor, bool writes) {
  return tuples_of(finder().access({now.first, now.second}, tensor, writes));
}

void withdraw(running now) {
  finder().withdraw({now.first, now.second});
}

py::list access_by_host(const at::Tensor& tensor, bool writes) {
  return tuples_of(finder().access_by_host(tensor, writes));
}

// A copy from one device to another runs on the source's stream, behind the other one's work.
void order(c10::DeviceIndex first, c10::DeviceIndex second) {
  const auto recorded = finder().record(core::current_stream(first));
  finder().wait(core::current_stream(second), *recorded);
}

void host_wait(c10::DeviceIndex device) {
  finder().host_wait(core::current_stream(device));
}

}  // namespace

void define_races(function_scope& native) {
  native.def("look_for_races", &look_for_races, py::arg("on"));
  native.def("race_begin", &begin, py::arg("device"));
  native.def("race_access", &access, py::arg("now"), py::arg("tensor"), py::arg("writes"));
  native.def("race_withdraw", &withdraw, py::arg("now"));
  native.def("race_access_by_host", &access_by_host, py::arg("tensor"), py::arg("writes"));
  native.def("race_order", &order, py::arg("first"), py::arg("second"));
  native.def("race_host_wait", &host_wait, py::arg("device"));
  native.def("race_freed", [] { return tuples_of(finder().take_freed()); });
  native.def("race_remembered", [] { return finder().remembered(); });
  native.def(
      "also_written", [](const std::string& name) { return ops::row_of(name).also_written; },
      py::arg("operator"));
}

}  // namespace outback::python
