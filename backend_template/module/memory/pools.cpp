// MemPool and use_mem_pool: memory that serves only what is allocated under the pool.
#include <c10/util/Exception.h>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/module/context_decorator.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/memory/memory.h"
#include "backend_template/python/device_argument.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// A pool on the device that is current when it is made. It comes to exist on another device when it
// is used there.
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

std::unique_ptr<pool_handle> make_pool(py::handle allocator, bool use_on_oom, bool no_split) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      allocator.is_none(), backend_name(),
      ": MemPool(allocator=...): the memory of this device comes from its runtime's slot "
      "mem_alloc: expected None");
  start_from_python();
  return std::make_unique<pool_handle>(core::current_device(), use_on_oom, no_split);
}

// Holds a reference to the pool, which must exist as long as allocations go to it.
class pool_context {
 public:
  pool_context(py::object pool, c10::DeviceIndex device)
      : pool_(std::move(pool)), id_(pool_.cast<const pool_handle&>().id()), device_(device) {}

  void enter() const { core::begin_allocate_to_pool(device_, id_); }
  void leave() const { core::end_allocate_to_pool(device_, id_); }

 private:
  py::object pool_;
  c10::MempoolId_t id_;
  c10::DeviceIndex device_;
};

}  // namespace

c10::MempoolId_t pool_id_argument(py::handle id) {
  const auto [first, second] = id.cast<std::pair<uint64_t, uint64_t>>();
  return {first, second};
}

void define_memory_pools(py::module_& memory) {
  py::class_<pool_handle>(memory, "MemPool", py::module_local(),
                          "Memory that serves only what is allocated under use_mem_pool. "
                          "`use_on_oom`: others may have it before memory runs out; `no_split`: a "
                          "segment serves one allocation.")
      .def(py::init(&make_pool), py::arg("allocator") = py::none(), py::arg("use_on_oom") = false,
           py::arg("no_split") = false)
      .def_property_readonly(
          "id",
          [](const pool_handle& pool) { return py::make_tuple(pool.id().first, pool.id().second); },
          py::doc("The pool's id, a pair of integers."))
      .def_property_readonly(
          "device", [](const pool_handle& pool) { return static_cast<int>(pool.device()); },
          py::doc("The index of the device that was current when it was made."))
      .def("use_count", &pool_handle::uses,
           py::doc("How many hold the pool: this object, and contexts."))
      .def(
          "snapshot",
          [](const pool_handle& pool, bool include_traces) -> py::object {
            return take_snapshot(pool.id(), include_traces)["segments"];
          },
          py::arg("include_traces") = true,
          py::doc("The pool's segments, as memory_snapshot lists them."));

  py::class_<pool_context> use(memory, "use_mem_pool", py::module_local(),
                               "Context manager and decorator: what this thread allocates on the "
                               "device comes out of the pool.");
  use.def(py::init([](py::object pool, py::handle device) {
            TORCH_CHECK_TYPE(py::isinstance<pool_handle>(pool), "use_mem_pool: expected a torch.",
                             backend_name(), ".MemPool, got ",
                             std::string(py::str(py::type::of(pool).attr("__name__"))));
            return pool_context(std::move(pool), device_argument(device));
          }),
          py::arg("pool"), py::arg("device") = py::none())
      .def("__enter__", &pool_context::enter)
      .def("__exit__", [](const pool_context& context, const py::args&) {
        context.leave();
        return false;
      });
  add_decorator(use, [](const pool_context& context) { return context; });
}

}  // namespace outback::python
