// A kernel of torch.compile's generator for the dialect (_outback/compile/portable), as generated
// code launches it.
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/kernels/kernel_module.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/streams/kernel_faults.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/module/device_module.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

constinit core::kernel_fault out_of_range("torch.compile: an index is out of range");
constinit core::kernel_fault failed_assertion("torch.compile: an assertion failed on the device");

// What a parameter of a kernel is. PortableKernel.signature in Python writes these letters.
enum parameter : char {
  pointer = 'p',           // of a tensor
  number = 'l',            // an i64
  elements = 'e',          // an i64: how many elements the items of all groups share
  rows = 'r',              // an i64: how many rows there are, a group for each
  side = 't',              // an i64: a side of a matrix, of which a group takes square tiles
  real = 'd',              // an f64
  real_32 = 'f',           // an f32, where the device has no f64
  fault_word = 'w',        // where the kernel writes a fault: the caller does not pass it
  number_of_range = 'n',   // the number of the fault out_of_range: the caller does not pass it
  number_of_assert = 'a',  // of failed_assertion
};

bool is_passed(char kind) {
  return kind != fault_word && kind != number_of_range && kind != number_of_assert;
}

class generated_kernel {
 public:
  // May compile, and take seconds: call it without the GIL.
  generated_kernel(c10::DeviceIndex device, outback_format format, const std::string& bytes,
                   uint32_t items, const std::string& name, std::string parameters)
      : device_(device),
        items_(items),
        parameters_(std::move(parameters)),
        passed_(std::count_if(parameters_.begin(), parameters_.end(), is_passed)),
        module_(device, format, bytes),
        kernel_(module_.find(name)) {}

  // Enqueues the kernel on the device's current stream, unless it has nothing to do.
  void operator()(const py::args& given) const {
    TORCH_CHECK(py::ssize_t(given.size()) == passed_, "a generated kernel has ", passed_,
                " arguments, and the call ", given.size());
    const c10::Stream stream = core::current_stream(device_);
    c10::SmallVector<uint64_t, 24> values(parameters_.size());
    c10::SmallVector<outback_argument, 24> arguments(parameters_.size());
    void** word = nullptr;
    int64_t groups = 1;
    std::size_t next = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      arguments[i] = {&values[i], sizeof(uint64_t), 0};
      const auto set = [&](auto value) {
        std::memcpy(&values[i], &value, sizeof(value));
        arguments[i].size = sizeof(value);
      };
      switch (parameters_[i]) {
        case pointer:
          set(address_of(given[next++]));
          arguments[i].is_memory = 1;
          break;
        case number:
          set(given[next++].cast<int64_t>());
          break;
        case elements: {
          const auto count = given[next++].cast<int64_t>();
          set(count);
          groups = std::min((count + items_ - 1) / items_, most_groups);
          break;
        }
        case rows: {
          const auto count = given[next++].cast<int64_t>();
          set(count);
          groups = std::min(count, most_groups);
          break;
        }
        case side: {
          const auto length = given[next++].cast<int64_t>();
          set(length);
          groups = std::min(groups * ((length + tile - 1) / tile), most_groups);
          break;
        }
        case real:
          set(given[next++].cast<double>());
          break;
        case real_32:
          set(static_cast<float>(given[next++].cast<double>()));
          break;
        case fault_word:
          set(static_cast<void*>(nullptr));
          arguments[i].is_memory = 1;
          word = reinterpret_cast<void**>(&values[i]);
          break;
        case number_of_range:
          set(out_of_range.number());
          break;
        case number_of_assert:
          set(failed_assertion.number());
          break;
        default:
          TORCH_INTERNAL_ASSERT(false, "no kind of parameter: ", parameters_[i]);
      }
    }
    if (groups <= 0) return;
    outback_launch launch = {};
    launch.struct_size = sizeof(launch);
    launch.groups[0] = static_cast<uint32_t>(groups);
    launch.groups[1] = launch.groups[2] = 1;
    launch.items[0] = static_cast<uint32_t>(items_);
    launch.items[1] = launch.items[2] = 1;
    launch.arguments = arguments.data();
    launch.argument_count = static_cast<uint32_t>(arguments.size());
    const py::gil_scoped_release no_gil;
    if (word == nullptr) return core::launch_kernel(stream, kernel_, launch);
    const core::fault_watch watch(stream);
    *word = watch.word();
    core::launch_kernel(stream, kernel_, launch);
  }

 private:
  // A number of groups that fills any device: each then has several rows, or elements.
  static constexpr int64_t most_groups = 1 << 16;
  static constexpr int64_t tile = 16;  // TILE in outback/dialect/generated.h

  void* address_of(py::handle value) const {
    TORCH_CHECK_TYPE(THPVariable_Check(value.ptr()), "a generated kernel's argument is a ",
                     std::string(py::str(py::type::of(value).attr("__name__"))),
                     ": expected a tensor");
    const at::Tensor& tensor = THPVariable_Unpack(value.ptr());
    TORCH_CHECK_VALUE(
        tensor.device().type() == core::device_type && tensor.device().index() == device_,
        "a generated kernel's argument is a tensor on ", tensor.device(), ": expected one on ",
        backend_name(), ":", int(device_), ", for which the code was compiled");
    return tensor.data_ptr();
  }

  const c10::DeviceIndex device_;
  const int64_t items_;  // of a group
  const std::string parameters_;
  const py::ssize_t passed_;
  const core::kernel_module module_;
  const outback_kernel kernel_;
};

}  // namespace

void define_generated_kernels(function_scope& native) {
  py::class_<generated_kernel>(native, "GeneratedKernel", py::module_local())
      .def(py::init<c10::DeviceIndex, outback_format, const std::string&, uint32_t,
                    const std::string&, std::string>(),
           py::call_guard<py::gil_scoped_release>(), py::arg("device"), py::arg("format"),
           py::arg("module"), py::arg("items"), py::arg("name"), py::arg("parameters"))
      .def("__call__", &generated_kernel::operator());
}

}  // namespace outback::python
