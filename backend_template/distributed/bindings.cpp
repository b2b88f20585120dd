// The group and its options for Python. torch.distributed copies a group's options and hands them
// to `split`, so they are a class of Python too.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include <string>
#include <utility>

#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/distributed/process_group.h"
#include "backend_template/distributed/registrations.h"
#include "backend_template/python/embedded.h"

namespace py = pybind11;

namespace outback::distributed {
namespace {

// Holds the group as torch's own class holds its base: the last reference may be Python's, and the
// end of a group waits for threads that may want the GIL.
template <class Group>
class unlocked_holder {
 public:
  using element_type = Group;

  unlocked_holder() = default;
  explicit unlocked_holder(c10::intrusive_ptr<Group> held) : held_(std::move(held)) {}
  explicit unlocked_holder(Group* raw)
      : held_(c10::intrusive_ptr<Group>::unsafe_steal_from_new(raw)) {}
  unlocked_holder(const unlocked_holder&) = default;
  unlocked_holder(unlocked_holder&&) noexcept = default;
  unlocked_holder& operator=(const unlocked_holder&) = default;
  unlocked_holder& operator=(unlocked_holder&&) noexcept = default;
  ~unlocked_holder() {
    const core::without_interpreter_lock while_it_ends;
    held_.reset();
  }

  Group& operator*() const { return *held_; }
  Group* operator->() const { return held_.get(); }
  Group* get() const { return held_.get(); }

 private:
  c10::intrusive_ptr<Group> held_;
};

}  // namespace
}  // namespace outback::distributed

PYBIND11_DECLARE_HOLDER_TYPE(T, outback::distributed::unlocked_holder<T>, true)

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

void define_classes(py::module_& native) {
  const py::module_ c10d = py::module_::import("torch._C._distributed_c10d");
  const py::object base = c10d.attr("Backend");
  py::class_<process_group, unlocked_holder<process_group>> group(native, "ProcessGroup", base);
  group.def_property_readonly("options", [](process_group& self) {
    return c10::static_intrusive_pointer_cast<group_options>(self.getBackendOptions());
  });
  group.def_property_readonly("transport",
                              [](const process_group& self) { return self.transport(); });
  // torch calls it in the processes that are not in a new group; NCCL has something to do there.
  group.def("perform_nocolor_split", [](const process_group&, const py::object&) {});
  py::class_<group_options, c10::intrusive_ptr<group_options>> options(native, "Options",
                                                                       base.attr("Options"));
  // torch 2.13 and older hand such a copy to the parts of all devices.
  options.def("__deepcopy__", [](const group_options& self, const py::object&) {
    return py::handle(sources).attr("options_of_parts")(self.timeout);
  });
}

}  // namespace

void define_groups(const py::module_& device_module) {
  auto native = device_module.attr("_outback").attr("_native").cast<py::module_>();
  native.def(
      "make_process_group", [native](c10::intrusive_ptr<c10d::Backend> transport, std::string name,
                                     std::chrono::milliseconds timeout) mutable {
        if (sources == nullptr) {
          define_classes(native);
          sources = python::part("distributed").release().ptr();
        }
        return process_group::make(std::move(transport), std::move(name), timeout, &make_transport);
      });
  native.def("leave_groups", [](double seconds) {
    using clock = std::chrono::steady_clock;
    process_group::leave_all(clock::now() + std::chrono::duration_cast<clock::duration>(
                                                std::chrono::duration<double>(seconds)));
  });
}

}  // namespace outback::distributed
