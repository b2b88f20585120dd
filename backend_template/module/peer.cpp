// can_device_access_peer and ipc_collect: devices and processes that use each other's memory.
#include "backend_template/core/devices/peer.h"

#include "backend_template/core/memory/shared_memory.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/module/device_module.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/embedded.h"

namespace py = pybind11;

namespace outback::python {
namespace {

bool can_device_access_peer(py::handle device, py::handle peer_device) {
  const c10::DeviceIndex index = device_argument(device);
  const c10::DeviceIndex peer = device_argument(peer_device);
  if (core::runtime().peer == nullptr) {
    core::refuse_absent("peer", "can_device_access_peer: access to the memory of other devices");
  }
  start_from_python();
  const py::gil_scoped_release no_gil;
  return core::can_access_peer(index, peer);
}

// On a device with a twin tensors go to other processes as the twin's, which collects.
void ipc_collect() {
  if (core::runtime().ipc == nullptr) {
    core::refuse_absent("ipc", "ipc_collect: memory that is shared with other processes");
  }
  start_from_python();
  {
    const py::gil_scoped_release no_gil;
    core::collect_exports();
  }
  const py::object twins = part("twin").attr("member")("ipc_collect");
  if (!twins.is_none()) twins();
}

}  // namespace

void define_peer(function_scope& module) {
  module.def(
      "can_device_access_peer", &can_device_access_peer, py::arg("device"), py::arg("peer_device"),
      py::doc(
          "Whether kernels of `device` can use memory of `peer_device` directly. Copies between "
          "devices do not need it."));
  module.def("ipc_collect", &ipc_collect,
             py::doc("Frees memory that was shared with other processes and that they let go of."));
}

}  // namespace outback::python
