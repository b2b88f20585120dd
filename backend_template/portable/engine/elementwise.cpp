#include "backend_template/portable/engine/elementwise.h"

#include <c10/util/Exception.h>

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
  int32_t reserved;
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

template <class C>
kernel_numbers<C> numbers_of(at::TensorIteratorBase& elements, const numbers& given) {
  kernel_numbers<C> made = {};
  for (size_t i = 0; i < given.count; ++i) made.given[i] = as<C>(given.all[i]);
  for (int i = 1; i < elements.ntensors(); ++i) {
    if (!elements.is_cpu_scalar(i)) continue;
    made.is_number |= 1 << (i - 1);
    made.operand[i - 1] = elements.scalar_value<C>(i);
  }
  return made;
}

places places_of(const at::TensorIteratorBase& elements) {
  places made = {};
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
void launch_on(at::TensorIteratorBase& elements, const chosen_kernel& chosen,
               const numbers& given) {
  const c10::Stream stream = core::current_stream(elements.device(0).index());
  const kernel_numbers<C> numbers = numbers_of<C>(elements, given);
  const int64_t count = elements.numel();
  const int64_t groups = groups_for(count, chosen.kernel);
  if (chosen.is_contiguous) {
    return with_pointers(elements, [&](const auto&... pointers) {
      launch(stream, chosen.kernel, groups, count, numbers, pointers...);
    });
  }
  const places lie = places_of(elements);
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
      return launch_on<float>(elements, chosen, given);
    case number_type::f64:
      return launch_on<double>(elements, chosen, given);
    default:
      return launch_on<int64_t>(elements, chosen, given);
  }
}

}  // namespace

void run_elementwise(at::TensorIteratorBase& elements, body& which, const numbers& given,
                     c10::ScalarType computed_in) {
  TORCH_INTERNAL_ASSERT(elements.noutputs() == 1 && elements.ninputs() == which.operands &&
                        elements.ndim() <= most_dims);
  const c10::ScalarType dtype =
      computed_in == c10::ScalarType::Undefined ? elements.common_dtype() : computed_in;
  const bool of_floats = c10::isFloatingType(dtype);
  if (which.types != body::kind::all && (which.types == body::kind::floats) != of_floats) {
    throw no_kernel();
  }
  if (elements.numel() == 0) return;
  if (elements.can_use_32bit_indexing()) return run_part(elements, which, given, dtype);
  for (at::TensorIteratorBase& part : elements.with_32bit_indexing()) {
    run_part(part, which, given, dtype);
  }
}

}  // namespace outback::portable
