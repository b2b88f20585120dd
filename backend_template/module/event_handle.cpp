#include "backend_template/module/event_handle.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backend_template/core/device.h"
#include "backend_template/core/event_flag.h"
#include "backend_template/core/guard.h"
#include "backend_template/core/ipc.h"
#include "backend_template/module/device_module.h"
#include "outback/backend.h"
#include "registration/python/device_argument.h"

namespace py = pybind11;

namespace outback::python {

py::bytes export_event(c10::Event& event) {
  const uint32_t flags = core::event_flags_in(event.flag());
  TORCH_CHECK_VALUE((flags & OUTBACK_EVENT_INTERPROCESS) != 0,
                    "ipc_handle: expected an event that was made with interprocess=True");
  start_from_python();
  const outback_ipc_handle handle = [&] {
    const py::gil_scoped_release no_gil;
    if (core::event_in(event) == nullptr) {
      core::event made(flags);
      made.create(core::current_device());
      event = core::adopt_event(std::move(made), flags);
    }
    return core::ipc_handle_of(*core::event_in(event));
  }();
  if (handle.fd >= 0) close(handle.fd);
  TORCH_CHECK_NOT_IMPLEMENTED(
      handle.fd < 0, backend_name(),
      ": ipc_handle: this runtime's handles carry a file descriptor, which bytes cannot");
  return py::bytes(reinterpret_cast<const char*>(handle.bytes), handle.size);
}

c10::Event import_event(py::handle device, std::string_view bytes) {
  const c10::DeviceIndex index = device_argument(device);
  outback_ipc_handle handle{};
  TORCH_CHECK_VALUE(!bytes.empty() && bytes.size() <= sizeof handle.bytes,
                    "from_ipc_handle: expected what ipc_handle() answered, 1 to ",
                    sizeof handle.bytes, " bytes, got ", bytes.size());
  handle.struct_size = sizeof handle;
  handle.size = static_cast<uint32_t>(bytes.size());
  handle.fd = -1;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(handle.bytes));
  start_from_python();
  const py::gil_scoped_release no_gil;
  return core::adopt_event(core::open_ipc_event(index, handle), OUTBACK_EVENT_INTERPROCESS);
}

}  // namespace outback::python
