#include "backend_template/portable/engine/elementwise.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <string>

#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/kernel_shape.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/number_type.h"

namespace outback::portable {
namespace {

constexpr int most_operands = 3;

// `places` in portable/kernels/shape.h.
struct places {
  int32_t dims;
  std::array<int32_t, 1 + most_operands> types;
  int32_t rounded_to;
  std::array<uint32_t, most_dims> size;
  std::array<std::array<uint32_t, most_dims>, 1 + most_operands> stride;
};

// `numbers_T` in portable/kernels/elementwise.k.
template <class C>
struct kernel_numbers {
  std::array<C, most_operands> operand;
  std::array<C, 3> given;
  int32_t is_number;
  int32_t reserved;
};

template <class C>
C as(const number& value) {
  if constexpr (std::is_same_v<C, int64_t>) {
    return value.whole;
  } else {
    return static_cast<C>(value.real);
  }
}

// `value` as `dtype` has it: PyTorch makes numbers beside tensors of the tensors' dtype.
int64_t in_dtype(int64_t value, c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kByte:
      return static_cast<uint8_t>(value);
    case c10::kChar:
      return static_cast<int8_t>(value);
    case c10::kShort:
      return static_cast<int16_t>(value);
    case c10::kInt:
      return static_cast<int32_t>(value);
    case c10::kBool:
      return static_cast<int64_t>(value != 0);
    default:
      return value;
  }
}
float in_dtype(float value, c10::ScalarType dtype) {
  if (dtype == c10::kHalf) return c10::Half(value);
  return dtype == c10::kBFloat16 ? static_cast<float>(c10::BFloat16(value)) : value;
}
double in_dtype(double value, c10::ScalarType /*dtype*/) {
  return value;
}

template <class C>
kernel_numbers<C> numbers_of(at::TensorIteratorBase& elements, const body& which,
                             const numbers& given, c10::ScalarType dtype) {
  kernel_numbers<C> made = {};
  for (size_t i = 0; i < given.count; ++i) {
    made.given[i] = as<C>(given.all[i]);
    if (!std::is_same_v<C, int64_t>) continue;
    const auto& scalar = given.all[i].given;
    made.given[i] =
        dtype == c10::kBool && scalar ? scalar->toBool() : in_dtype(made.given[i], dtype);
  }
  for (int i = 1; i < elements.ntensors(); ++i) {
    if (!elements.is_cpu_scalar(i)) continue;
    made.is_number |= 1 << (i - 1);
    made.operand[i - 1] = elements.scalar_value<C>(i);
    // 16-bit types keep the numbers of sums, products and quotients as float32.
    if (std::is_same_v<C, int64_t> || !which.takes_wide_numbers) {
      made.operand[i - 1] = in_dtype(made.operand[i - 1], dtype);
    }
  }
  return made;
}

places places_of(const at::TensorIteratorBase& elements, const body& which, c10::ScalarType dtype) {
  places made = {};
  // The output of another dtype gets values of the common one, as PyTorch's does.
  const bool rounds = !which.gives_truth && elements.dtype(0) != dtype;
  made.rounded_to = rounds ? static_cast<int32_t>(dtype) : -1;
  made.dims = elements.ndim();
  for (int d = 0; d < elements.ndim(); ++d) {
    made.size[d] = static_cast<uint32_t>(elements.shape()[d]);
  }
  for (int i = 0; i < elements.ntensors(); ++i) {
    made.types[i] = static_cast<int32_t>(elements.dtype(i));
    for (int d = 0; d < elements.ndim(); ++d) {
      made.stride[i][d] = static_cast<uint32_t>(elements.strides(i)[d]);
    }
  }
  return made;
}

// True if the kernel for contiguous memory of `dtype` fits: all tensors lie in one line, and have
// that dtype, or bool for a result of truth values.
bool is_contiguous(const at::TensorIteratorBase& elements, c10::ScalarType dtype,
                   bool gives_truth) {
  if (elements.ndim() > 1) return false;
  for (int i = 0; i < elements.ntensors(); ++i) {
    if (elements.is_cpu_scalar(i)) continue;
    if (elements.dtype(i) != (i == 0 && gives_truth ? c10::kBool : dtype)) return false;
    const bool is_line =
        elements.numel() == 1 || elements.strides(i)[0] == elements.element_size(i);
    if (!is_line) return false;
  }
  return true;
}

device_pointer pointer_of(const at::TensorIteratorBase& elements, int operand) {
  // The kernel does not follow the pointer of a number, which is not the device's.
  return {elements.is_cpu_scalar(operand) ? nullptr : elements.data_ptr(operand)};
}

// Calls `launch_with` with the pointers that a kernel of so many operands takes.
template <class Launch>
void with_pointers(const at::TensorIteratorBase& elements, const Launch& launch_with) {
  const auto at = [&](int i) { return pointer_of(elements, i); };
  switch (elements.ntensors()) {
    case 1:
      return launch_with(at(0));
    case 2:
      return launch_with(at(0), at(1));
    case 3:
      return launch_with(at(0), at(1), at(2));
    default:
      return launch_with(at(0), at(1), at(2), at(3));
  }
}

struct chosen_kernel {
  const kernels::packed_kernel& kernel;
  bool is_contiguous;
};

template <class C>
void launch_on(at::TensorIteratorBase& elements, const body& which, const chosen_kernel& chosen,
               const numbers& given, c10::ScalarType dtype) {
  const c10::Stream stream = core::current_stream(elements.device(0).index());
  const kernel_numbers<C> numbers = numbers_of<C>(elements, which, given, dtype);
  const int64_t count = elements.numel();
  const int64_t groups = groups_for(count, chosen.kernel);
  if (chosen.is_contiguous) {
    return with_pointers(elements, [&](const auto&... pointers) {
      launch(stream, chosen.kernel, groups, count, numbers, pointers...);
    });
  }
  const places lie = places_of(elements, which, dtype);
  with_pointers(elements, [&](const auto&... pointers) {
    launch(stream, chosen.kernel, groups, lie, count, numbers, pointers...);
  });
}

chosen_kernel choose(const at::TensorIteratorBase& elements, body& which, c10::ScalarType dtype) {
  const c10::DeviceIndex device = elements.device(0).index();
  const auto of_memory = type_of_memory(dtype);
  const bool contiguous = of_memory && is_contiguous(elements, dtype, which.gives_truth);
  const number_type type = contiguous ? *of_memory : type_computed_in(dtype);
  const auto find = [&]() -> const kernels::packed_kernel& {
    const std::string ending = name_of(type);
    return find_kernel(device, "elementwise_" + ending,
                       which.name + std::string(contiguous ? "_" : "_any_") + ending);
  };
  const size_t slot =
      static_cast<size_t>(type) + (type == number_type::f32 && !contiguous ? size_t{5} : size_t{0});
  return {which.kernels.get(device, slot, find), contiguous};
}

void run_part(at::TensorIteratorBase& elements, body& which, const numbers& given,
              c10::ScalarType dtype) {
  const chosen_kernel chosen = choose(elements, which, dtype);
  switch (type_computed_in(dtype)) {
    case number_type::f32:
      return launch_on<float>(elements, which, chosen, given, dtype);
    case number_type::f64:
      return launch_on<double>(elements, which, chosen, given, dtype);
    default:
      return launch_on<int64_t>(elements, which, chosen, given, dtype);
  }
}

bool is_for(body::kind types, c10::ScalarType dtype) {
  const bool of_floats = c10::isFloatingType(dtype);
  switch (types) {
    case body::kind::all:
      return true;
    case body::kind::numbers:
      return dtype != c10::kBool;
    case body::kind::floats:
      return of_floats;
    case body::kind::integers:
      return !of_floats;
    default:
      return !of_floats && dtype != c10::kBool;
  }
}

// True if PyTorch takes the numbers. Those of 16-bit types it takes as float32, mostly.
bool all_fit(const numbers& given, c10::ScalarType dtype) {
  const c10::ScalarType wide = c10::isReducedFloatingType(dtype) ? c10::kFloat : dtype;
  return std::all_of(given.all.begin(), given.all.end(),
                     [&](const number& each) { return !each.given || fits(*each.given, wide); });
}

}  // namespace

void run_elementwise(at::TensorIteratorBase& elements, body& which, const numbers& given,
                     c10::ScalarType computed_in) {
  TORCH_INTERNAL_ASSERT(elements.noutputs() == 1 && elements.ninputs() == which.operands &&
                        elements.ndim() <= most_dims);
  const c10::ScalarType dtype =
      computed_in == c10::ScalarType::Undefined ? elements.common_dtype() : computed_in;
  if (!is_for(which.types, dtype) || !all_fit(given, dtype)) throw no_kernel();
  if (elements.numel() == 0) return;
  if (elements.can_use_32bit_indexing()) return run_part(elements, which, given, dtype);
  for (at::TensorIteratorBase& part : elements.with_32bit_indexing()) {
    run_part(part, which, given, dtype);
  }
}

}  // namespace outback::portable
