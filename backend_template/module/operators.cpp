// The operator report (ops/report/), for _outback/operators.py, and what operators are for the
// driver's tools, for _outback/ranges.py.
#include <torch/csrc/utils/pybind.h>

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "backend_template/core/interfaces/driver_ranges.h"
#include "backend_template/core/kernels/portable_choice.h"
#include "backend_template/core/operators/call_notes.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/program_place.h"
#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/report/call_log.h"
#include "backend_template/ops/report/call_watch.h"
#include "backend_template/ops/report/provider.h"
#include "backend_template/ops/report/variables.h"

namespace py = pybind11;

namespace outback::python {
namespace {

void begin_recording(const std::vector<std::string>& with_formulas, bool with_places) {
  ops::begin_recording(with_formulas, with_places ? &number_of_place : nullptr);
}

py::object object_of(const ops::formula_argument& argument) {
  return std::visit(
      [](const auto& value) -> py::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return py::none();
        } else {
          return py::cast(value);
        }
      },
      argument);
}

py::object dtype_of(c10::ScalarType dtype) {
  return dtype == c10::ScalarType::Undefined ? py::none() : py::cast(dtype);
}

// In the order of _outback/operators.py's Logged.
py::list logged_operators() {
  const ops::logged_calls all = ops::all_logged_calls();
  py::list rows;
  for (const auto& [key, totals] : all.totals) {
    py::object arguments = py::none(), results = py::none();
    if (key.arguments != 0) {
      const ops::formula_arguments& found = all.arguments.at(key.arguments);
      py::list list;
      for (const auto& each : found.arguments) list.append(object_of(each));
      arguments = list, results = py::cast(found.results);
    }
    const core::call_notes& notes = totals.notes;
    rows.append(py::make_tuple(
        py::make_tuple(key.op->name, key.op->overload, dtype_of(key.dtype), ops::name_of(key.who),
                       text_of_place(key.place), key.arguments),
        py::make_tuple(totals.calls, totals.own_ns, totals.total_ns, totals.tensor_bytes,
                       notes.bytes_to_host, notes.bytes_to_device, notes.bytes_on_devices,
                       notes.copies, notes.waits, notes.waited_ns),
        arguments, results));
  }
  return rows;
}

py::tuple noted_outside() {
  const core::call_notes notes = core::notes_outside_operators();
  return py::make_tuple(notes.bytes_to_host, notes.bytes_to_device, notes.bytes_on_devices,
                        notes.copies, notes.waits, notes.waited_ns);
}

// (name, overload, who) of each operator of a namespace.
py::list providers_of(const std::string& name_space) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  const ops::kernel_target& target = ops::target_of(0);
  const ops::provider lent = ops::lender_on(0);
  const bool has_portable = core::runs_portable_kernels(0);
  py::list all;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.getNamespace() != name_space) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op) continue;
    const char* const who = ops::name_of(ops::provider_of(*op, target, lent, has_portable));
    all.append(py::make_tuple(name.name, name.overload_name, who));
  }
  return all;
}

}  // namespace

void define_operators(function_scope& native) {
  native.def("begin_recording", &begin_recording, py::arg("with_formulas"), py::arg("with_places"));
  native.def("end_recording", &ops::end_recording);
  native.def("logged_operators", &logged_operators);
  native.def("noted_outside_operators", &noted_outside);
  native.def("wanted_report", &ops::wanted_report);
  native.def("are_places_wanted", &ops::are_places_wanted);
  native.def("providers", &providers_of, py::arg("name_space"));
  native.def("begin_ranges", &core::begin_driver_ranges, py::arg("operators"));
  native.def("end_ranges", &core::end_driver_ranges, py::arg("operators"));
}

}  // namespace outback::python
