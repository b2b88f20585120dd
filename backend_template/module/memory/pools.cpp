// What MemPool and use_mem_pool (_outback/allocator.py) are made of: memory that serves only what
// is allocated under the pool.
#include <c10/util/Exception.h>

#include <exception>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/module/memory/memory.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// A pool on `device`. It comes to exist on another device when it is used there.
class pool_handle {
 public:
  pool_handle(c10::DeviceIndex device, bool use_on_oom, bool no_split)
      : id_(core::new_pool_id()), device_(device) {
    core::cache_of(device).begin_pool_use(id_);
    core::cache_of(device).set_pool_options(id_, use_on_oom, no_split);
  }
  pool_handle(const pool_handle&) = delete;
  pool_handle& operator=(const pool_handle&) = delete;

  ~pool_handle() {
    if (core::is_in_bad_fork()) return;  // a child has none of the parent's locks and memory
    const py::gil_scoped_release no_gil;
    core::cache_of(device_).end_pool_use(id_);
    try {
      core::device_allocator().emptyCache(id_);
    } catch (const c10::Error& e) {  // what() would add torch's backtrace
      TORCH_WARN(backend_name(), ": emptying a MemPool: ", e.what_without_backtrace());
    } catch (const std::exception& e) {
      TORCH_WARN(backend_name(), ": emptying a MemPool: ", e.what());
    }
  }

  c10::MempoolId_t id() const noexcept { return id_; }
  c10::DeviceIndex device() const noexcept { return device_; }
  int uses() const { return core::cache_of(device_).pool_uses(id_); }

 private:
  c10::MempoolId_t id_;
  c10::DeviceIndex device_;
};

}  // namespace

void define_memory_pools(function_scope& native) {
  py::class_<pool_handle>(native, "MemPool", py::module_local())
      .def(py::init<c10::DeviceIndex, bool, bool>())
      .def_property_readonly("id", &pool_handle::id, py::doc("The pool's id, a pair of integers."))
      .def_property_readonly("device", &pool_handle::device,
                             py::doc("The index of the device that was current when it was made."))
      .def("use_count", &pool_handle::uses,
           py::doc("How many hold the pool: this object, and contexts."));
  native.def("begin_allocate_to_pool", &core::begin_allocate_to_pool);
  native.def("end_allocate_to_pool", &core::end_allocate_to_pool);
}

}  // namespace outback::python
