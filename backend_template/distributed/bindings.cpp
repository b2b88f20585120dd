// The group and its options for Python. torch.distributed copies a group's options and hands them
// to `split`, so they are a class of Python too.
#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/distributed/gloo/idle_threads.h"
#include "backend_template/distributed/gloo/transport.h"
#include "backend_template/distributed/nccl/transport.h"
#include "backend_template/distributed/process_group.h"
#include "backend_template/distributed/registrations.h"
#include "backend_template/distributed/unlocked_holder.h"
#include "backend_template/python/embedded.h"
#include "backend_template/python/function_scope.h"
#include "backend_template/python/imported.h"
#include "outback/detail/variables.hpp"

namespace py = pybind11;

namespace outback::distributed {
namespace {

// torch.<name>._outback.distributed; leaked, as the library is. Null before the first group.
PyObject* sources = nullptr;

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                            int size, const c10d::Backend::Options& options) {
  const py::gil_scoped_acquire gil;
  return py::handle(sources)
      .attr("make_gloo")(store, rank, size, options.timeout, options.group_name,
                         options.global_ranks_in_group)
      .cast<c10::intrusive_ptr<c10d::Backend>>();
}

c10::intrusive_ptr<c10d::Backend::Options> make_nccl_options(
    const c10::intrusive_ptr<c10d::Backend>& nccl, const c10d::Backend::Options& options) {
  const py::gil_scoped_acquire gil;
  return python::part("nccl")
      .attr("options_of_part")(nccl, options.timeout, options.group_name,
                               options.global_ranks_in_group)
      .cast<c10::intrusive_ptr<c10d::Backend::Options>>();
}

// torch calls it in the processes that are not in a new group; NCCL alone has something to do
// there.
void perform_nocolor_split(const process_group& self, const py::object& device) {
  const py::object transport = py::cast(self.of_torch());
  if (!py::hasattr(transport, "perform_nocolor_split")) return;
  const auto ours = device.cast<c10::Device>();
  transport.attr("perform_nocolor_split")(core::twin_of(ours.index()).value_or(ours));
}

// torch asks for more than Backend has.
void define_classes(const py::module_& native) {
  const py::module_ c10d = python::import_module("torch._C._distributed_c10d");
  const py::object base = c10d.attr("Backend");
  py::class_<process_group, unlocked_holder<process_group>>(native, "ProcessGroup", base)
      .def_property_readonly(
          "options",
          [](process_group& self) {
            return c10::static_intrusive_pointer_cast<group_options>(self.getBackendOptions());
          })
      .def_property_readonly("transport", &process_group::of_torch)
      .def("perform_nocolor_split", &perform_nocolor_split);
  py::class_<group_options, c10::intrusive_ptr<group_options>> options(native, "Options",
                                                                       base.attr("Options"));
  // torch 2.13 and older hand such a copy to the parts of all devices.
  options.def("__deepcopy__", [](const group_options& self, const py::object&) {
    return py::handle(sources).attr("options_of_parts")(self.timeout);
  });
}

}  // namespace

void define_groups(const py::module_& device_module) {
  const auto owner = device_module.attr("_outback").attr("_native").cast<py::module_>();
  const auto define_once = [owner] {
    if (sources != nullptr) return;
    define_classes(owner);
    sources = python::part("distributed").release().ptr();
  };
  python::function_scope native(owner);
  native.def(
      "make_process_group", [define_once](c10::intrusive_ptr<c10d::Backend> transport, bool is_nccl,
                                          std::string name, std::chrono::milliseconds timeout) {
        define_once();
        std::unique_ptr<distributed::transport> through;
        if (is_nccl) {
          through = std::make_unique<nccl_transport>(std::move(transport), &make_nccl_options);
        } else {
          through = std::make_unique<gloo_transport>(std::move(transport), &make_gloo);
        }
        return process_group::make(std::move(through), std::move(name), timeout);
      });
  native.def("wanted_transport", []() -> std::optional<std::string> {
    try {
      const auto wanted = outback::detail::choice_variable("OUTBACK_TRANSPORT", {"gloo", "nccl"});
      if (!wanted) return std::nullopt;
      return *wanted == 0 ? "gloo" : "nccl";
    } catch (const outback::invalid_argument& refused) {
      throw py::value_error(refused.what());
    }
  });
  native.def("leave_groups", [](double seconds) {
    using clock = std::chrono::steady_clock;
    const auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(seconds));
    if (!process_group::leave_all(deadline)) return;
    const core::without_interpreter_lock while_it_waits;
    await_idle_threads(deadline);
  });
}

}  // namespace outback::distributed
