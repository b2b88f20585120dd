// torch.compile's default code generator, Inductor, for a device whose memory the CPU addresses:
// the kernels that it generates for the CPU run in place on that memory.
//
// Inductor takes seconds to import, so everything here happens when it is imported.
#include <c10/util/Exception.h>

#include <string>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/python_class.h"
#include "backend_template/python/import_hook.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

constexpr const char* generator_module = "torch._inductor.codegen.common";
constexpr const char* before_kernel = "_before_compiled_kernel";

void check_addressable(c10::DeviceIndex device) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      core::is_host_addressable(device), backend_name(),
      ": torch.compile's default backend, Inductor, generates kernels for the CPU, and the CPU "
      "cannot address this device's memory; use torch.compile(backend=\"aot_eager\"), or give "
      "Inductor a code generator for ",
      backend_name(), " with torch._inductor.codegen.common.register_backend_for_device");
}

// Generated code calls this before each kernel; it waits until the device's current stream is idle.
// It checks the device again, since torch keeps generated code on disk and another process may run
// it with another device.
void prepare_kernel(int64_t index) {
  const c10::DeviceIndex device = index < 0 ? core::current_device() : normalize_device(index);
  check_addressable(device);
  // Keeps the GIL in the usual case, in which there is nothing to wait for.
  if (core::is_idle(core::current_stream(device))) return;
  const py::gil_scoped_release no_gil;
  core::drain(device);
}

bool is_ours(const std::string& name, py::handle device) {
  return !device.is_none() && device.attr("type").cast<std::string>() == name;
}

// ---- The Python code around the kernels

// Inductor writes a device that it does not know by its type alone, which would mean device 0. This
// stands for the device with the text "acme:1" as its type.
py::object with_index(const py::object& device) {
  using namespace py::literals;
  return py::module_::import("types").attr("SimpleNamespace")("type"_a = py::str(device),
                                                              "index"_a = device.attr("index"));
}

// Replaces PythonWrapperCodegen.make_allocation.
py::object make_allocation(const std::string& name, const py::object& base, const py::object& self,
                           const py::object& buffer, const py::object& device, const py::args& rest,
                           const py::kwargs& named) {
  return base.attr("make_allocation")(
      self, buffer, is_ours(name, device) ? with_index(device) : device, *rest, **named);
}

py::object current_device_of_graph() {
  return py::module_::import("torch._inductor.virtualized")
      .attr("V")
      .attr("graph")
      .attr("get_current_device_or_throw")();
}

// Replaces PythonWrapperCodegen._generate_kernel_call_helper: writes the call as for a kernel on
// the CPU, with a call of prepare_kernel before it. Kernels in Triton go the usual way.
void write_kernel_call(const std::string& name, const py::object& base, const py::object& self,
                       const py::object& kernel, const py::object& arguments,
                       const py::kwargs& named) {
  py::object device = named.contains("device") ? py::object(named["device"]) : py::none();
  if (device.is_none()) device = current_device_of_graph();
  const bool is_cpp = named.contains("triton") && !named["triton"].cast<bool>();
  if (!is_cpp || !is_ours(name, device)) {
    base.attr("_generate_kernel_call_helper")(self, kernel, arguments, **named);
    return;
  }
  const py::object index = device.attr("index");
  self.attr("writeline")(py::str("torch.{}.{}({})").format(name, before_kernel, index));
  self.attr("writeline")(self.attr("wrap_kernel_call")(kernel, arguments));
}

py::dict wrapper_members(const std::string& name, const py::object& base) {
  py::dict members;
  members["make_allocation"] = bound_method(
      [name, base](const py::object& self, const py::object& buffer, const py::object& device,
                   const py::args& rest, const py::kwargs& named) {
        return make_allocation(name, base, self, buffer, device, rest, named);
      },
      py::arg("name"), py::arg("device"));
  members["_generate_kernel_call_helper"] = bound_method(
      [name, base](const py::object& self, const py::object& kernel, const py::object& arguments,
                   const py::kwargs& named) {
        write_kernel_call(name, base, self, kernel, arguments, named);
      },
      py::arg("kernel_name"), py::arg("call_args"));
  return members;
}

py::object make_wrapper(const std::string& name) {
  const py::module_ wrappers = py::module_::import("torch._inductor.codegen.wrapper");
  const auto derived = [&](const char* base_name, const char* own_name) {
    const py::object base = wrappers.attr(base_name);
    return new_class(own_name, py::make_tuple(base), "torch." + name,
                     "Writes the Python around generated kernels.", wrapper_members(name, base));
  };
  const py::object part = derived("SubgraphPythonWrapperCodegen", "OutbackSubgraphWrapper");
  const py::object whole = derived("PythonWrapperCodegen", "OutbackWrapper");
  whole.attr("create") = bound_static_method(
      [part, whole = py::handle(whole)](bool is_subgraph, const py::object& subgraph_name,
                                        const py::object& parent, const py::object& signatures) {
        return is_subgraph ? part(subgraph_name, parent, signatures) : whole();
      },
      py::arg("is_subgraph"), py::arg("subgraph_name"), py::arg("parent_wrapper"),
      py::arg("partition_signatures") = py::none());
  return whole;
}

// ---- Calls of the device module in generated code

py::object make_device_overrides(const std::string& name) {
  const py::object base = py::module_::import("torch._inductor.codegen.cpu_device_op_overrides")
                              .attr("CpuDeviceOpOverrides");
  const std::string module = "torch." + name;
  py::dict members;
  // An index is a number, or, from torch 2.14 on, the name of a variable in the generated code.
  const auto add = [&](const char* method, const std::string& function) {
    members[method] = bound_method([function](const py::object&, const py::object& index) {
      return py::str("{}({})").format(function, index);
    });
  };
  add("set_device", module + ".set_device");
  add("device_guard", module + ".device");
  members["synchronize"] =
      bound_method([module](const py::object&) { return module + ".synchronize()"; });
  return new_class("OutbackDeviceOpOverrides", py::make_tuple(base), module,
                   "Writes calls of the device's.", members)();
}

// ---- Registration

// Makes the class of the code generator. It derives from the CPU's, since torch asks for the base
// class; it refuses a device whose memory the CPU cannot address.
py::object make_scheduling(const std::string& name, const py::object& base) {
  py::dict members;
  members["__init__"] = bound_method([base](const py::object& self, const py::object& scheduler) {
    check_addressable(core::current_device());
    base.attr("__init__")(self, scheduler);
  });
  return new_class("OutbackScheduling", py::make_tuple(base), "torch." + name,
                   "The CPU's code generator, for memory that the CPU can address.", members);
}

// In some places torch asks whether a device is the CPU, and takes every device that it does not
// know for a GPU. The functions below make it answer as for the CPU. `is_generated_here` says
// whether this generator still serves the device: a vendor may register another one later.
struct cpu_decisions {
  std::string name;
  py::module_ common;
  py::object scheduling;

  bool is_generated_here(const std::string& type) const {
    return type == name && common.attr("get_scheduling_for_device")(name).is(scheduling);
  }
};

// The scheduler decides by this which loops may be fused and reordered.
void count_nodes_as_cpu(const cpu_decisions& decisions) {
  const py::object node =
      py::module_::import("torch._inductor.scheduler").attr("BaseSchedulerNode");
  const py::object is_cpu = node.attr("is_cpu");
  node.attr("is_cpu") = bound_method([decisions, is_cpu](const py::object& self) {
    if (is_cpu(self).cast<bool>()) return true;
    const py::object device = self.attr("get_device")();
    return !device.is_none() &&
           decisions.is_generated_here(device.attr("type").cast<std::string>());
  });
}

// The writer of a kernel decides by the language which dtypes intermediate values have.
void write_in_cpp(const cpu_decisions& decisions) {
  const py::module_ utilities = py::module_::import("torch._inductor.utils");
  constexpr const char* asked = "get_current_backend";
  const py::object original = utilities.attr(asked);
  const py::object replacement = py::cpp_function(
      [decisions, original](const py::object& type) -> py::object {
        const py::object device_type =
            type.is_none() ? current_device_of_graph().attr("type") : type;
        if (decisions.is_generated_here(device_type.cast<std::string>())) return py::str("cpp");
        return original(device_type);
      },
      py::name(asked), py::arg("device_type") = py::none());
  // In both modules, since the second one imported the function from the first.
  utilities.attr(asked) = replacement;
  decisions.common.attr(asked) = replacement;
}

// True if the vendor has a code generator: one that is registered already, or one under the names
// that torch looks for in the device module.
bool has_another_generator(const std::string& name, const py::module_& common) {
  const py::object device_module = py::module_::import(("torch." + name).c_str());
  return !common.attr("get_scheduling_for_device")(name).is_none() ||
         py::hasattr(device_module, "Scheduling") ||
         py::hasattr(device_module, "_inductor_backend_init");
}

void register_generator(const std::string& name, const py::module_& cpp) {
  const py::module_ common = py::module_::import(generator_module);
  if (has_another_generator(name, common)) return;
  const py::object scheduling = make_scheduling(name, cpp.attr("CppScheduling"));
  const py::object wrapper = make_wrapper(name);
  const cpu_decisions decisions{.name = name, .common = common, .scheduling = scheduling};
  count_nodes_as_cpu(decisions);
  write_in_cpp(decisions);
  common.attr("register_device_op_overrides")(name, make_device_overrides(name));
  // Last: has_another_generator would stop a second try if something above had failed in the first.
  common.attr("register_backend_for_device")(name, scheduling, wrapper);
}

}  // namespace

void define_inductor(py::module_& module) {
  module.def(before_kernel, &prepare_kernel, py::arg("device_index"));
}

void register_inductor_backend(const std::string& name) {
  when_imported("torch._inductor.codegen.cpp",
                [name](const py::module_& cpp) { register_generator(name, cpp); });
}

}  // namespace outback::python
