// The group and its options for Python. torch.distributed copies a group's options and hands them
// to `split`, so they are a class of Python too.
#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>
#include <utility>

#include "backend_template/core/twin/twin.h"
#include "backend_template/distributed/process_group.h"
#include "backend_template/distributed/registrations.h"
#include "backend_template/distributed/twin_group.h"
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

c10::intrusive_ptr<c10d::Backend> make_transport(const c10::intrusive_ptr<c10d::Store>& store,
                                                 int rank, int size,
                                                 const c10d::Backend::Options& options) {
  const py::gil_scoped_acquire gil;
  return py::handle(sources)
      .attr("make_transport")(store, rank, size, options.timeout, options.group_name,
                              options.global_ranks_in_group)
      .cast<c10::intrusive_ptr<c10d::Backend>>();
}

c10::intrusive_ptr<c10d::Backend::Options> make_twin_options(
    const c10::intrusive_ptr<c10d::Backend>& transport, const c10d::Backend::Options& options) {
  const py::gil_scoped_acquire gil;
  return python::part("nccl")
      .attr("options_of_part")(transport, options.timeout, options.group_name,
                               options.global_ranks_in_group)
      .cast<c10::intrusive_ptr<c10d::Backend::Options>>();
}

// torch asks for it beside what Backend has.
template <class Group>
py::class_<Group, unlocked_holder<Group>> define_group(const py::module_& native, const char* name,
                                                       const py::object& base) {
  py::class_<Group, unlocked_holder<Group>> group(native, name, base);
  group.def_property_readonly("options", [](Group& self) {
    return c10::static_intrusive_pointer_cast<group_options>(self.getBackendOptions());
  });
  group.def_property_readonly("transport", [](const Group& self) { return self.transport(); });
  return group;
}

void define_classes(const py::module_& native) {
  const py::module_ c10d = python::import_module("torch._C._distributed_c10d");
  const py::object base = c10d.attr("Backend");
  // torch calls it in the processes that are not in a new group; NCCL has something to do there.
  define_group<process_group>(native, "ProcessGroup", base)
      .def("perform_nocolor_split", [](const process_group&, const py::object&) {});
  define_group<twin_group>(native, "TwinProcessGroup", base)
      .def("perform_nocolor_split", [](const twin_group& self, c10::Device device) {
        const auto twin = core::twin_of(device.index());
        py::cast(self.transport()).attr("perform_nocolor_split")(twin ? *twin : device);
      });
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
      "make_process_group", [define_once](c10::intrusive_ptr<c10d::Backend> transport,
                                          std::string name, std::chrono::milliseconds timeout) {
        define_once();
        return process_group::make(std::move(transport), std::move(name), timeout, &make_transport);
      });
  native.def("make_twin_group", [define_once](c10::intrusive_ptr<c10d::Backend> transport,
                                              std::string name, std::chrono::milliseconds timeout) {
    define_once();
    return c10::make_intrusive<twin_group>(std::move(transport), std::move(name), timeout,
                                           &make_twin_options);
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
    process_group::leave_all(clock::now() + std::chrono::duration_cast<clock::duration>(
                                                std::chrono::duration<double>(seconds)));
  });
}

}  // namespace outback::distributed
