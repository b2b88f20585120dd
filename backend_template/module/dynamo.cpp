// torch._dynamo's DeviceInterface for the device (torch/_dynamo/device_interface.py). torch._dynamo
// takes seconds to import and most programs never do, so the class is made when it is imported.
#include <algorithm>
#include <string>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/properties.h"
#include "backend_template/module/python_class.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/dtype.h"
#include "backend_template/python/import_hook.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// torch.compile's worker processes are forked and must not use the device, so the parent reads the
// properties and the workers find them here. Guarded by the GIL; leaked.
struct worker_state {
  std::vector<device_properties> properties;
  int device = -1;
};

worker_state& worker() {
  static auto& state = *new worker_state;
  return state;
}

int worker_current_device() {
  return worker().device >= 0 ? worker().device : core::current_device();
}

device_properties worker_device_properties(py::handle device) {
  auto& all = worker().properties;
  if (all.empty()) {
    for (c10::DeviceIndex i = 0; i < core::device_count(); ++i) all.push_back(properties_of(i));
  }
  return all.at(device.is_none() ? worker_current_device() : device_argument(device));
}

// Returns the runtime's handle of the current stream as a number, which compiled code passes to
// kernels.
uintptr_t raw_stream(py::handle device) {
  return reinterpret_cast<uintptr_t>(
      core::handle_of(core::current_stream(device_argument(device))));
}

// True if the compiler may generate code for the dtype. bfloat16 counts as emulated unless the
// vendor names it among the dtypes of autocast.
bool is_dtype_supported(py::handle dtype, bool including_emulation) {
  const c10::ScalarType type = as_scalar_type(dtype);
  if (!core::supports(type)) return false;
  if (type != c10::ScalarType::BFloat16 || including_emulation) return true;
  const auto& native = core::amp_dtypes();
  return std::find(native.begin(), native.end(), type) != native.end();
}

py::object make_worker(const std::string& module) {
  py::dict members;
  members["set_device"] = bound_static_method([](int device) { worker().device = device; });
  members["current_device"] = bound_static_method(&worker_current_device);
  members["get_device_properties"] =
      bound_static_method(&worker_device_properties, py::arg("device") = py::none());
  return new_class("Worker", py::tuple(), module, "What the compiler's worker processes ask.",
                   members);
}

py::object make_interface(const py::object& base, const py::object& device_module) {
  py::dict members;
  for (const char* type : {"device", "Event", "Stream"}) members[type] = device_module.attr(type);
  for (const char* function :
       {"current_device", "set_device", "device_count", "is_available", "stream", "current_stream",
        "set_stream", "_set_stream_by_id", "synchronize", "get_device_properties",
        "memory_allocated", "is_bf16_supported"}) {
    members[function] = static_method(device_module.attr(function));
  }
  members["exchange_device"] = static_method(device_module.attr("_exchange_device"));
  members["maybe_exchange_device"] = static_method(device_module.attr("_maybe_exchange_device"));
  members["get_compute_capability"] = static_method(device_module.attr("get_device_capability"));
  members["get_raw_stream"] = bound_static_method(&raw_stream, py::arg("device_idx"));
  members["is_dtype_supported"] = bound_static_method(&is_dtype_supported, py::arg("dtype"),
                                                      py::arg("including_emulation") = false);
  const auto module = device_module.attr("__name__").cast<std::string>();
  members["Worker"] = make_worker(module);
  return new_class("OutbackInterface", py::make_tuple(base), module,
                   "The device as torch._dynamo asks for it.", members);
}

void register_interface(const std::string& name, const py::module_& interfaces) {
  const py::object device_module = py::module_::import(("torch." + name).c_str());
  const py::object interface = make_interface(interfaces.attr("DeviceInterface"), device_module);
  const py::object add = interfaces.attr("register_interface_for_device");
  add(name, interface);
  // torch looks interfaces up by "acme" and by "acme:0".
  for (int i = 0; i < core::device_count(); ++i) add(name + ":" + std::to_string(i), interface);
}

}  // namespace

void register_dynamo_interface(const std::string& name) {
  when_imported("torch._dynamo.device_interface",
                [name](const py::module_& interfaces) { register_interface(name, interfaces); });
  // Lets compiled graphs draw the same random numbers again in the backward pass. torch 2.13 and
  // newer have this function for devices other than CUDA.
  when_imported("torch._functorch._aot_autograd.utils", [name](const py::module_& utilities) {
    constexpr const char* add = "register_graphsafe_rng_device_type";
    if (py::hasattr(utilities, add)) utilities.attr(add)(name);
  });
}

}  // namespace outback::python
