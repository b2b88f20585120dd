// torch.<name>.compile_kernel, and the class of what it returns.
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/kernels/kernel_module.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/stream_type.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/embedded.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// ---- Languages

struct language {
  const char* name;
  outback_format format;
  bool is_text;
};
constexpr language languages[] = {
    {"host", OUTBACK_FORMAT_HOST, false},   {"spirv", OUTBACK_FORMAT_SPIRV, false},
    {"ptx", OUTBACK_FORMAT_PTX, true},      {"cubin", OUTBACK_FORMAT_CUBIN, false},
    {"hsaco", OUTBACK_FORMAT_HSACO, false}, {"opencl_c", OUTBACK_FORMAT_OPENCL_C, true},
};

const language* language_of(outback_format format) {
  const auto* const found = std::find_if(std::begin(languages), std::end(languages),
                                         [&](const language& l) { return l.format == format; });
  return found == std::end(languages) ? nullptr : found;
}

// "spirv (bytes), opencl_c (text)". A vendor's own format is its number.
std::string text_of(const outback_formats& formats) {
  std::string text;
  for (uint32_t i = 0; i < formats.count; ++i) {
    const language* const known = language_of(formats.list[i]);
    text += (i == 0 ? "" : ", ") +
            (known == nullptr ? std::to_string(formats.list[i])
                              : known->name + std::string(known->is_text ? " (text)" : " (bytes)"));
  }
  return text;
}

// The format that `chosen` names. If it is None: the first format of the device that is text or
// bytes, as the source is.
outback_format format_of(py::handle chosen, bool is_text, const outback_formats& formats,
                         c10::DeviceIndex device) {
  const auto* const end = formats.list + formats.count;
  if (py::isinstance<py::int_>(chosen) && !py::isinstance<py::bool_>(chosen)) {
    const auto number = chosen.cast<int64_t>();
    const auto* const found = std::find(formats.list, end, number);
    if (found != end) return *found;
  } else if (chosen.is_none()) {
    for (const auto* each = formats.list; each != end; ++each) {
      const language* const known = language_of(*each);
      if (known != nullptr && known->is_text == is_text) return *each;
    }
  } else if (py::isinstance<py::str>(chosen)) {
    const auto name = chosen.cast<std::string>();
    for (const auto* each = formats.list; each != end; ++each) {
      const language* const known = language_of(*each);
      if (known != nullptr && known->name == name) return *each;
    }
  } else {
    C10_THROW_ERROR(TypeError, "compile_kernel: language is a " +
                                   std::string(py::str(py::type::of(chosen).attr("__name__"))) +
                                   ": expected a name, the number of a format, or None");
  }
  const std::string wanted =
      chosen.is_none() ? std::string(is_text ? "text" : "bytes") : std::string(py::repr(chosen));
  C10_THROW_ERROR(
      ValueError,
      core::format("compile_kernel: {}:{} does not take {}: it takes {}, and texts in the dialect "
                   "by language=\"dialect\"",
                   backend_name(), int(device), wanted, text_of(formats)));
}

// ---- Arguments

// The arguments of a launch, and the bytes that they point to. The bytes of large arguments stay in
// the buffers of their Python objects, which this object keeps.
class kernel_arguments {
 public:
  kernel_arguments(const py::sequence& given, c10::DeviceIndex device) : device_(device) {
    const std::size_t count = given.size();
    values_.resize(count);
    for (std::size_t i = 0; i < count; ++i) add(i, given[i]);
  }

  const outback_argument* data() const { return arguments_.data(); }
  uint32_t size() const { return uint32_t(arguments_.size()); }
  // Keeps pinned memory from being handed out again before the launch on `stream` is over.
  void hold_pinned(const c10::Stream& stream) const {
    for (const void* ptr : pinned_) {
      at::getHostAllocator(core::device_type)
          ->record_event(core::pointer_info(ptr).base, nullptr, stream);
    }
  }
  // Whether an int, a float or a bool is among them, whose size does not show.
  bool has_plain_numbers() const { return has_plain_numbers_; }

 private:
  void add(std::size_t i, const py::object& value) {
    if (THPVariable_Check(value.ptr())) return add_tensor(i, THPVariable_Unpack(value.ptr()));
    if (PyBool_Check(value.ptr())) return add_number(i, value.ptr() == Py_True);
    if (PyLong_Check(value.ptr())) return add_integer(i, value);
    // NumPy's float64 is a Python float too, and has its own 64 bits.
    if (PyObject_CheckBuffer(value.ptr()) != 0) return add_buffer(i, value);
    if (PyFloat_Check(value.ptr())) return add_number(i, float(PyFloat_AS_DOUBLE(value.ptr())));
    C10_THROW_ERROR(TypeError,
                    core::format("arguments[{}] is a {}: expected a tensor, a number, or an object "
                                 "with a buffer, such as ctypes.c_int64(1)",
                                 i, std::string(py::str(py::type::of(value).attr("__name__")))));
  }

  void add_tensor(std::size_t i, const at::Tensor& tensor) {
    if (tensor.device().is_cpu() && tensor.dim() == 0) {  // a number of its dtype
      check_memory(i, tensor);
      std::memcpy(&values_[i], tensor.const_data_ptr(), tensor.element_size());
      return add_bytes(&values_[i], tensor.element_size(), 0);
    }
    const bool is_ours = tensor.device().type() == core::device_type &&
                         tensor.device().index() == device_ && tensor.layout() == at::kStrided;
    if (!is_ours && !(tensor.device().is_cpu() && tensor.is_pinned())) {
      C10_THROW_ERROR(
          ValueError,
          core::format("arguments[{}] is a {} tensor on {}: expected a strided tensor on {}:{}, "
                       "pinned memory, or a CPU tensor without dimensions for a number",
                       i, std::string(c10::toString(tensor.scalar_type())), tensor.device().str(),
                       backend_name(), int(device_)));
    }
    check_memory(i, tensor);
    void* const ptr = tensor.data_ptr();
    std::memcpy(&values_[i], &ptr, sizeof(ptr));
    add_bytes(&values_[i], sizeof(ptr), 1);
    if (!is_ours && ptr != nullptr) pinned_.push_back(ptr);
  }
  static void check_memory(std::size_t i, const at::Tensor& tensor) {
    if (tensor.is_conj() || tensor.is_neg()) {
      C10_THROW_ERROR(ValueError,
                      core::format("arguments[{}] is a tensor whose memory has other values: call "
                                   "resolve_conj() and resolve_neg() on it first",
                                   i));
    }
    // A fake or functional tensor, a wrapper around others, or a storage that was resized to 0.
    const c10::TensorImpl& all = *tensor.unsafeGetTensorImpl();
    if (!all.has_storage() || all.unsafe_storage().data() != nullptr) return;
    if (!all.has_symbolic_sizes_strides() && all.numel() == 0) return;
    C10_THROW_ERROR(ValueError,
                    core::format("arguments[{}] is a tensor without memory: launch kernels on such "
                                 "tensors inside of a custom operator (torch.library.custom_op)",
                                 i));
  }
  // An int of 32 bits, as in torch.cuda's compiled kernels.
  void add_integer(std::size_t i, const py::object& value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0 || number < std::numeric_limits<int32_t>::min() ||
        number > std::numeric_limits<int32_t>::max()) {
      C10_THROW_ERROR(
          ValueError,
          core::format("arguments[{}] is {}, which does not fit in 32 bits: pass a number of a "
                       "wider type, such as ctypes.c_int64({})",
                       i, std::string(py::str(value)), std::string(py::str(value))));
    }
    add_number(i, int32_t(number));
  }
  template <class T>
  void add_number(std::size_t i, T number) {
    has_plain_numbers_ = true;
    std::memcpy(&values_[i], &number, sizeof(number));
    add_bytes(&values_[i], sizeof(number), 0);
  }
  void add_buffer(std::size_t i, const py::object& value) {
    auto buffer = std::make_unique<held_buffer>(value);
    const auto size = std::size_t(buffer->view.len);
    if (size == 0 || size > std::numeric_limits<uint32_t>::max()) {
      C10_THROW_ERROR(ValueError, core::format("arguments[{}] has {} bytes: expected at least 1, "
                                               "and fewer than 4 GiB",
                                               i, size));
    }
    add_bytes(buffer->view.buf, size, 0);
    buffers_.push_back(std::move(buffer));
  }
  void add_bytes(const void* value, std::size_t size, uint32_t is_memory) {
    arguments_.push_back({value, uint32_t(size), is_memory});
  }

  // The bytes of a Python object, which must lie in one piece.
  struct held_buffer {
    explicit held_buffer(const py::object& of) {
      if (PyObject_GetBuffer(of.ptr(), &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
    }
    ~held_buffer() { PyBuffer_Release(&view); }
    held_buffer(const held_buffer&) = delete;
    held_buffer& operator=(const held_buffer&) = delete;
    Py_buffer view;
  };
  struct alignas(16) value {  // a complex double is the largest number
    std::array<std::byte, 16> bytes;
  };
  const c10::DeviceIndex device_;
  c10::SmallVector<value, 16> values_;  // never grows: arguments_ points into it
  c10::SmallVector<outback_argument, 16> arguments_;
  std::vector<std::unique_ptr<held_buffer>> buffers_;
  std::vector<const void*> pinned_;
  bool has_plain_numbers_ = false;
};

// 3, (3,) or (3, 4, 5).
void read_counts(py::handle given, const char* name, uint32_t (&counts)[3]) {
  const auto one = [&](py::handle number) {
    // Numbers of NumPy too.
    const auto index = py::reinterpret_steal<py::object>(
        PyIndex_Check(number.ptr()) != 0 ? PyNumber_Index(number.ptr()) : nullptr);
    const long long count = index ? PyLong_AsLongLong(index.ptr()) : -1;
    if (PyErr_Occurred() != nullptr) PyErr_Clear();  // no integer, or too large: refused below
    if (count < 0 || count > std::numeric_limits<uint32_t>::max()) {
      C10_THROW_ERROR(ValueError,
                      core::format("{} is {}: expected one to three numbers from 0 to 4294967295",
                                   name, std::string(py::repr(given))));
    }
    return uint32_t(count);
  };
  counts[0] = counts[1] = counts[2] = 1;
  if (!PyTuple_Check(given.ptr()) && !PyList_Check(given.ptr())) {
    counts[0] = one(given);
    return;
  }
  const auto all = py::reinterpret_borrow<py::sequence>(given);
  const std::size_t size = all.size();
  if (size < 1 || size > 3) one(py::none());
  for (std::size_t i = 0; i < size; ++i) counts[i] = one(all[i]);
}

// ---- The class

class compiled_kernel {
 public:
  // `items` is 0 unless the kernel runs with groups of exactly this size.
  compiled_kernel(c10::DeviceIndex device, std::shared_ptr<const core::kernel_module> module,
                  std::string name, uint32_t items)
      : device_(device),
        name_(std::move(name)),
        items_(items),
        module_(std::move(module)),
        kernel_(module_->find(name_)),
        info_(module_->info(kernel_)) {}

  void operator()(py::handle groups, py::handle items, const py::sequence& arguments,
                  uint64_t local_memory, py::handle stream) const {
    outback_launch launch = {};
    launch.struct_size = sizeof(launch);
    read_counts(groups, "groups", launch.groups);
    read_counts(items, "items", launch.items);
    check_items(launch);
    launch.local_size = local_memory;
    const kernel_arguments all(arguments, device_);
    launch.arguments = all.data();
    launch.argument_count = all.size();
    const c10::Stream where =
        stream.is_none() ? core::current_stream(device_) : unwrap_stream(stream);
    TORCH_CHECK_VALUE(where.device_index() == device_, "stream is one of ", where.device(),
                      ": expected a stream of ", backend_name(), ":", int(device_),
                      ", where the kernel is");
    const py::gil_scoped_release no_gil;
    try {
      core::launch_kernel(where, kernel_, launch);
    } catch (c10::Error& error) {
      const std::string text = error.msg();
      const bool is_of_a_size = text.find(" bytes") != std::string::npos &&
                                text.find("local memory") == std::string::npos;
      if (all.has_plain_numbers() && is_of_a_size) {
        error.add_context(
            "an int or a float has 4 bytes as an argument: pass ctypes.c_int64(n) for 8, or "
            "another number of ctypes or NumPy");
      }
      throw;
    }
    all.hold_pinned(where);
  }

  std::string repr() const {
    return core::format("<kernel {} on {}:{}>", name_, backend_name(), int(device_));
  }
  const std::string& name() const { return name_; }
  py::object device() const { return make_device(device_); }
  const outback_kernel_info& info() const { return info_; }
  uint32_t items() const { return items_; }

 private:
  void check_items(const outback_launch& launch) const {
    if (items_ == 0) return;
    TORCH_CHECK_VALUE(launch.items[0] == items_ && launch.items[1] == 1 && launch.items[2] == 1 &&
                          launch.groups[1] == 1 && launch.groups[2] == 1,
                      "the kernel ", name_, " is compiled for groups of ", items_,
                      " items in one dimension, and the launch has ", launch.items[0], " x ",
                      launch.items[1], " x ", launch.items[2], " items in ", launch.groups[0],
                      " x ", launch.groups[1], " x ", launch.groups[2],
                      " groups: pass kernel.items, and one number of groups");
  }

  const c10::DeviceIndex device_;
  const std::string name_;
  const uint32_t items_;
  const std::shared_ptr<const core::kernel_module> module_;
  const outback_kernel kernel_;
  const outback_kernel_info info_;
};

bool is_dialect(py::handle language) {
  return py::isinstance<py::str>(language) && language.cast<std::string>() == "dialect";
}

// What module/_outback/kernels makes of a text in the dialect.
struct made_module {
  outback_format format;
  std::string bytes;
  uint32_t items;  // in a group
};
made_module made_of_dialect(const py::str& source, py::handle items, c10::DeviceIndex device) {
  py::module_ kernels = part("kernels");
  const py::tuple made =
      kernels.attr("module_of")(source, items, kernels.attr("target_of")(device));
  return {made[0].cast<outback_format>(), made[1].cast<std::string>(), made[2].cast<uint32_t>()};
}

// The fields of _outback/kernels' Target.
py::tuple kernel_target(c10::DeviceIndex device, const char* caller) {
  const outback_formats formats = core::kernel_formats(device, caller);
  const outback_device_info& info = core::device_info(device);
  py::list numbers;
  for (uint32_t i = 0; i < formats.count; ++i) numbers.append(formats.list[i]);
  return py::make_tuple(
      numbers, formats.target, info.max_group_size, (info.flags & OUTBACK_NO_FLOAT64) == 0,
      (info.flags & OUTBACK_NO_FLOAT16) == 0, (info.flags & OUTBACK_NO_INT64_ATOMICS) == 0);
}

// A text, or an iterable of texts.
std::vector<std::string> names_of(const py::object& given) {
  std::vector<std::string> names;
  const auto add = [&](py::handle name) {
    if (!py::isinstance<py::str>(name)) {
      C10_THROW_ERROR(TypeError, "compile_kernel: name is " + std::string(py::repr(given)) +
                                     ": expected text, or a sequence of texts");
    }
    names.push_back(name.cast<std::string>());
    // Drivers take names that end with the first NUL.
    TORCH_CHECK_VALUE(names.back().find('\0') == std::string::npos, "compile_kernel: name is ",
                      std::string(py::repr(name)), ", and no kernel's name has a NUL");
  };
  if (!py::isinstance<py::iterable>(given) || py::isinstance<py::str>(given)) {
    add(given);
  } else {
    for (const py::handle each : given) add(each);
  }
  return names;
}

// One kernel for one name, and a tuple of kernels for several.
py::object compile_kernel(const py::object& source, const py::object& name, py::handle language,
                          py::handle items, py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  const bool is_text = py::isinstance<py::str>(source);
  if (!is_text && !py::isinstance<py::bytes>(source)) {
    C10_THROW_ERROR(TypeError, "compile_kernel: source is a " +
                                   std::string(py::str(py::type::of(source).attr("__name__"))) +
                                   ": expected text or bytes");
  }
  const bool is_one = py::isinstance<py::str>(name);
  const std::vector<std::string> names = names_of(name);
  start_from_python();
  const outback_formats formats = core::kernel_formats(index, "compile_kernel");
  made_module made = {};
  if (is_dialect(language)) {
    if (!is_text) C10_THROW_ERROR(TypeError, "compile_kernel: a source in the dialect is text");
    made = made_of_dialect(source, items, index);
  } else {
    TORCH_CHECK_VALUE(items.is_none(), "compile_kernel: items is for language=\"dialect\"");
    made.format = format_of(language, is_text, formats, index);
    made.bytes = source.cast<std::string>();
    TORCH_CHECK_VALUE(!made.bytes.empty(), "compile_kernel: source is empty");
  }
  std::vector<std::unique_ptr<compiled_kernel>> all;
  {
    const py::gil_scoped_release no_gil;
    const auto module = std::make_shared<const core::kernel_module>(index, made.format, made.bytes);
    for (const std::string& each : names) {
      all.push_back(std::make_unique<compiled_kernel>(index, module, each, made.items));
    }
  }
  if (is_one) return py::cast(std::move(all.front()));
  py::tuple kernels(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) kernels[i] = py::cast(std::move(all[i]));
  return kernels;
}

}  // namespace

void define_kernels(function_scope& module, function_scope& native) {
  native.def("kernel_target", &kernel_target, py::arg("device"), py::arg("caller"));
  py::class_<compiled_kernel>(
      module, "Kernel", py::module_local(),
      "A kernel on one device, made by `compile_kernel`. It keeps its code loaded.")
      .def("__call__", &compiled_kernel::operator(), py::arg("groups"), py::arg("items"),
           py::arg("arguments"), py::arg("local_memory") = 0, py::arg("stream") = py::none(),
           py::doc("Enqueues the kernel on `stream`, or on this thread's current stream, and "
                   "returns. `groups` and `items` are the number of groups, and of items in each "
                   "group, in one to three dimensions. `arguments` are tensors, which become "
                   "pointers to their first element, and numbers: an int has 32 bits, a float has "
                   "32 bits, and a number of ctypes, of NumPy or a CPU tensor without dimensions "
                   "has its own type. `local_memory` is in bytes for each group. Tensors must not "
                   "be freed for other streams before the work is done: see record_stream."))
      .def("__repr__", &compiled_kernel::repr)
      .def_property_readonly("name", &compiled_kernel::name)
      .def_property_readonly("device", &compiled_kernel::device)
      .def_property_readonly(
          "argument_count",
          [](const compiled_kernel& kernel) -> py::object {
            const int32_t count = kernel.info().argument_count;
            return count < 0 ? py::object(py::none()) : py::object(py::int_(count));
          },
          py::doc("How many arguments it has; None if the driver does not tell."))
      .def_property_readonly(
          "max_items", [](const compiled_kernel& kernel) { return kernel.info().max_items; },
          py::doc("How many items a group may have at most; 0 if the driver does not tell."))
      .def_property_readonly(
          "items",
          [](const compiled_kernel& kernel) -> py::object {
            return kernel.items() == 0 ? py::object(py::none())
                                       : py::object(py::int_(kernel.items()));
          },
          py::doc("How many items each group has, if the kernel is in the dialect; else None."));
  module.def(
      "compile_kernel", &compile_kernel, py::arg("source"), py::arg("name"), py::kw_only(),
      py::arg("language") = py::none(), py::arg("items") = py::none(),
      py::arg("device") = py::none(),
      py::doc("Compiles `source`, a text or bytes in a language of the device's driver, and "
              "returns its kernel `name`, or for several names a tuple. `language` is one of host, "
              "spirv, ptx, cubin, "
              "hsaco and opencl_c, or the number of a vendor's own format; by default the "
              "device's first one for text, or for bytes. \"dialect\" is Outback's own "
              "language, outback/dialect.h, for every device; its groups have `items` items, "
              "by default 256 or the device's most. An error has the compiler's words."));
}

}  // namespace outback::python
