#include "backend_template/module/properties.h"

#include <algorithm>
#include <string>

#include "backend_template/core/runtime/format.h"
#include "backend_template/module/device_module.h"
#include "backend_template/python/device_argument.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Turns 0, which stands for "the device has none", into None: torch.compile divides by some of
// these.
py::object or_none(uint32_t value) {
  return value == 0 ? py::object(py::none()) : py::object(py::int_(value));
}

py::object uuid_of(const outback_device_info& info) {
  if (std::all_of(std::begin(info.uuid), std::end(info.uuid), [](uint8_t b) { return b == 0; })) {
    return py::none();
  }
  using namespace py::literals;
  return py::module_::import("uuid").attr("UUID")(
      "bytes"_a = py::bytes(reinterpret_cast<const char*>(info.uuid), sizeof info.uuid));
}

// In the form of torch.cuda's repr.
std::string text_of(const device_properties& properties) {
  return core::format(
      "{}_device_properties(name='{}', major={}, minor={}, total_memory={}MB, "
      "multi_processor_count={})",
      backend_name(), properties.info.name, properties.info.capability_major,
      properties.info.capability_minor, properties.info.memory_size >> 20,
      properties.info.compute_units);
}

device_properties get_device_properties(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  start_from_python();
  return properties_of(index);
}

template <class Value>
auto field(Value outback_device_info::* member) {
  return [member](const device_properties& properties) { return properties.info.*member; };
}

}  // namespace

device_properties properties_of(c10::DeviceIndex index) {
  return {index, core::device_info(index)};
}

void define_properties(py::module_& module) {
  // The names are those of torch.cuda's object, where it has the field.
  py::class_<device_properties>(module, "_DeviceProperties", py::module_local())
      .def_property_readonly(
          "name", [](const device_properties& properties) { return properties.info.name; })
      .def_property_readonly("total_memory", field(&outback_device_info::memory_size))
      .def_property_readonly("max_allocation", field(&outback_device_info::max_alloc_size))
      .def_property_readonly("multi_processor_count", field(&outback_device_info::compute_units))
      .def_property_readonly("major", field(&outback_device_info::capability_major))
      .def_property_readonly("minor", field(&outback_device_info::capability_minor))
      .def_property_readonly("warp_size",
                             [](const device_properties& properties) {
                               return or_none(properties.info.subgroup_size);
                             })
      .def_property_readonly("max_threads_per_block",
                             [](const device_properties& properties) {
                               return or_none(properties.info.max_group_size);
                             })
      .def_property_readonly("is_integrated",
                             [](const device_properties& properties) {
                               return (properties.info.flags & OUTBACK_INTEGRATED) != 0;
                             })
      .def_property_readonly("is_host_addressable",
                             [](const device_properties& properties) {
                               return (properties.info.flags & OUTBACK_HOST_ADDRESSABLE) != 0;
                             })
      .def_property_readonly(
          "pci_id", [](const device_properties& properties) { return properties.info.pci_id; })
      .def_property_readonly(
          "uuid", [](const device_properties& properties) { return uuid_of(properties.info); })
      .def("__repr__", &text_of);

  module.def("get_device_properties", &get_device_properties, py::arg("device") = py::none(),
             py::doc("What the device says of itself."));
  module.def(
      "get_device_name",
      [](py::handle device) { return std::string(get_device_properties(device).info.name); },
      py::arg("device") = py::none(), py::doc("The device's name."));
  module.def(
      "get_device_capability",
      [](py::handle device) {
        const device_properties properties = get_device_properties(device);
        return std::make_pair(properties.info.capability_major, properties.info.capability_minor);
      },
      py::arg("device") = py::none(), py::doc("The device's capability as (major, minor)."));
}

}  // namespace outback::python
