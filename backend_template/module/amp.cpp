#include "backend_template/module/amp.h"

#include <string>

#include "backend_template/core/devices/device.h"
#include "backend_template/module/python_class.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using namespace py::literals;

// A subclass whose constructor takes no device type, as torch.cuda.amp.autocast.
py::object make_autocast(const py::module_& torch_amp, const std::string& module) {
  const py::object base = torch_amp.attr("autocast");
  const py::object type = new_class("autocast", py::make_tuple(base), module,
                                    "torch.autocast for this device. Without `dtype` it casts to "
                                    "what torch.get_autocast_dtype() answers in this thread: the "
                                    "first of get_amp_supported_dtype() in the thread that "
                                    "registered the backend, float16 in others, until "
                                    "torch.set_autocast_dtype().");
  add_method(
      type, "__init__",
      [base](const py::object& self, bool enabled, const py::object& dtype, bool cache_enabled) {
        base.attr("__init__")(self, backend_name(), "enabled"_a = enabled, "dtype"_a = dtype,
                              "cache_enabled"_a = cache_enabled);
      },
      py::arg("enabled") = true, py::arg("dtype") = py::none(), py::arg("cache_enabled") = true);
  return type;
}

py::object make_grad_scaler(const py::module_& torch_amp, const std::string& module) {
  const py::object base = torch_amp.attr("GradScaler");
  const py::object type = new_class("GradScaler", py::make_tuple(base), module,
                                    "torch.amp.GradScaler for this device.");
  add_method(
      type, "__init__",
      [base](const py::object& self, double init_scale, double growth_factor, double backoff_factor,
             int64_t growth_interval, bool enabled) {
        base.attr("__init__")(self, backend_name(), "init_scale"_a = init_scale,
                              "growth_factor"_a = growth_factor,
                              "backoff_factor"_a = backoff_factor,
                              "growth_interval"_a = growth_interval, "enabled"_a = enabled);
      },
      py::arg("init_scale") = 65536.0, py::arg("growth_factor") = 2.0,
      py::arg("backoff_factor") = 0.5, py::arg("growth_interval") = 2000,
      py::arg("enabled") = true);
  return type;
}

}  // namespace

void define_amp(py::module_& amp) {
  const py::module_ torch_amp = py::module_::import("torch.amp");
  const std::string module = amp.attr("__name__").cast<std::string>();
  const py::object partial = py::module_::import("functools").attr("partial");
  amp.attr("autocast") = make_autocast(torch_amp, module);
  amp.attr("GradScaler") = make_grad_scaler(torch_amp, module);
  for (const char* decorator : {"custom_fwd", "custom_bwd"}) {
    amp.attr(decorator) = partial(torch_amp.attr(decorator), "device_type"_a = backend_name());
  }
  amp.def(
      "amp_definitely_not_available", [] { return core::device_count() == 0; },
      py::doc("Whether there is no device to autocast on."));
  amp.attr("__all__") = py::make_tuple("amp_definitely_not_available", "autocast", "custom_bwd",
                                       "custom_fwd", "GradScaler");
}

}  // namespace outback::python
