// caching_allocator_alloc and caching_allocator_delete: memory for other libraries, by its address.
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/memory/memory.h"
#include "backend_template/module/stream_type.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/imported.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// The memory that was handed out and not deleted yet, by its address. Guarded by the GIL. Leaked:
// memory that nobody deletes stays allocated until the process ends.
auto& raw() {
  static auto& all = *new std::unordered_map<uintptr_t, c10::DataPtr>;
  return all;
}

c10::Stream stream_argument(py::handle stream, c10::DeviceIndex device) {
  if (stream.is_none()) return core::current_stream(device);
  if (PyLong_Check(stream.ptr()) == 0) {
    const py::object base = import_module("torch").attr("Stream");
    TORCH_CHECK_TYPE(py::isinstance(stream, base),
                     "Invalid type for stream argument, must be `torch.", backend_name(),
                     ".Stream` or `int` representing a pointer to an existing stream");
    return unwrap_stream(stream);
  }
  // A native handle, as torch.cuda takes it: 0 is the default stream.
  const auto address = stream.cast<uintptr_t>();
  if (address == 0) return core::default_stream(device);
  return core::wrap_native_stream(
      device, reinterpret_cast<void*>(address));  // NOLINT(performance-no-int-to-ptr)
}

uintptr_t allocate_raw(size_t size, py::handle device, py::handle stream) {
  const c10::DeviceIndex index = device_argument(device);
  start_from_python();
  const c10::Stream its = stream_argument(stream, index);
  TORCH_CHECK_VALUE(its.device_index() == index, "caching_allocator_alloc: expected a stream of ",
                    backend_name(), ":", static_cast<int>(index), ", got one of ", its.device());
  c10::DataPtr memory;
  {
    const py::gil_scoped_release no_gil;
    // The allocator hands out memory for the current stream.
    const c10::Stream before = core::exchange_stream(its);
    const auto restore = c10::make_scope_exit([&before] { core::exchange_stream(before); });
    memory = core::allocate_on(index, size);
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  if (address != 0) raw().emplace(address, std::move(memory));
  return address;
}

void delete_raw(uintptr_t address) {
  if (address == 0) return;
  const auto gone = raw().extract(address);
  TORCH_CHECK(!gone.empty(), backend_name(), ": caching_allocator_delete: ",
              reinterpret_cast<void*>(address),  // NOLINT(performance-no-int-to-ptr)
              " is not what caching_allocator_alloc answered, or it was deleted already");
  const py::gil_scoped_release no_gil;  // freeing may call the driver
  gone.mapped().clear();
}

}  // namespace

void define_raw_memory(function_scope& memory) {
  memory.def(
      "caching_allocator_alloc", &allocate_raw, py::arg("size"), py::arg("device") = py::none(),
      py::arg("stream") = py::none(),
      py::doc(
          "The address of `size` bytes of the device's memory for use on `stream`, a Stream or a "
          "native handle; None: the current one. To be given to caching_allocator_delete."));
  memory.def("caching_allocator_delete", &delete_raw, py::arg("mem_ptr"),
             py::doc("Frees what caching_allocator_alloc answered."));
}

}  // namespace outback::python
