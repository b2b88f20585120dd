#include "backend_template/portable/engine/index_kernels.h"

#include <ATen/Context.h>
#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

#include <cstring>

#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/elementwise.h"
#include "backend_template/portable/engine/kernel_family.h"

namespace outback::portable {
namespace {

constinit kernel_family copy_kernels("move", "copy");
constinit kernel_family take_kernels("move", "take");
constinit kernel_family put_kernels("move", "put");
constinit kernel_family add_at_kernels("add_at", "add_at");
constinit kernel_cache<1> linear_index_kernels;

template <class C>
void launch_add(const walk& elements, const kernels::packed_kernel& kernel, c10::DeviceIndex device,
                const indexed& index, C alpha) {
  const c10::Stream stream = core::current_stream(device);
  const core::fault_watch watch(stream);
  elements.in_parts([&](const places& lie, const walk& part, int64_t count) {
    launch(stream, kernel, groups_for(count, kernel), lie, count, index, alpha,
           part.pointer(walk::out), part.pointer(walk::in), part.pointer(walk::index),
           device_pointer{watch.word()});
  });
}

void launch_move(const walk& elements, const kernels::packed_kernel& kernel,
                 c10::DeviceIndex device, const indexed& index) {
  const c10::Stream stream = core::current_stream(device);
  const core::fault_watch watch(stream);
  elements.in_parts([&](const places& lie, const walk& part, int64_t count) {
    launch(stream, kernel, groups_for(count, kernel), lie, count, index, part.pointer(walk::out),
           part.pointer(walk::in), part.pointer(walk::index), device_pointer{watch.word()});
  });
}

// A part of an order cannot know the places of the other parts.
void require_order(const walk& elements, const indexed& index) {
  if (index.ordered != 0 && !elements.fits()) throw no_kernel();
}

}  // namespace

indexed along(const at::Tensor& tensor, int64_t dim, const at::Tensor& index,
              core::kernel_fault& out_of_range) {
  indexed made;
  made.size = tensor.size(dim);
  made.stride = tensor.stride(dim) * tensor.element_size();
  made.is_i64 = index.scalar_type() == c10::kLong ? 1 : 0;
  made.fault = out_of_range.number();
  return made;
}

void order(indexed& index, const walk& elements, int64_t lines, int64_t line_stride) {
  index.ordered = 1;
  index.lines = lines;
  index.inner = lines == 0 ? 1 : elements.count() / lines;
  index.line_stride = line_stride;
}

void set_value(indexed& index, const at::Scalar& value, c10::ScalarType dtype) {
  AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, dtype, "index_fill", [&] {
    const scalar_t number = value.to<scalar_t>();
    index.has_value = 1;
    std::memcpy(&index.value, &number, sizeof(number));
  });
}

void launch_copy(walk elements, int64_t element_size, c10::DeviceIndex device, int64_t start) {
  if (elements.count() == 0) return;
  elements.simplify();
  const kernels::packed_kernel& kernel =
      copy_kernels.of(device, type_of_size(elements.widen(element_size, start)));
  const c10::Stream stream = core::current_stream(device);
  elements.in_parts([&](const places& lie, const walk& part, int64_t count) {
    launch(stream, kernel, groups_for(count, kernel), lie, count, start, part.pointer(walk::out),
           part.pointer(walk::in));
  });
}

void launch_take(walk elements, int64_t element_size, c10::DeviceIndex device,
                 const indexed& index) {
  if (elements.count() == 0) return;
  elements.simplify();
  const number_type type = type_of_size(elements.widen(element_size, index.stride));
  launch_move(elements, take_kernels.of(device, type), device, index);
}

void launch_put(walk elements, int64_t element_size, c10::DeviceIndex device,
                const indexed& index) {
  if (elements.count() == 0) return;
  elements.simplify();
  require_order(elements, index);
  // `inner` counts elements as they are.
  const bool can_widen = index.ordered == 0 && index.has_value == 0;
  const int64_t size = can_widen ? elements.widen(element_size, index.stride) : element_size;
  launch_move(elements, put_kernels.of(device, type_of_size(size)), device, index);
}

void launch_add_at(walk elements, number_type type, c10::DeviceIndex device, const indexed& given,
                   const number& alpha) {
  if (elements.count() == 0) return;
  elements.simplify();
  require_order(elements, given);
  const kernels::packed_kernel& kernel = add_at_kernels.of(device, type);
  indexed index = given;
  // Otherwise a kernel of float64 goes by the order only if it has to.
  if (!at::globalContext().deterministicAlgorithms()) index.ordered = 0;
  switch (type) {
    case number_type::f32:
      return launch_add(elements, kernel, device, index, static_cast<float>(alpha.real));
    case number_type::f64:
      return launch_add(elements, kernel, device, index, alpha.real);
    default:
      return launch_add(elements, kernel, device, index, alpha.whole);
  }
}

void launch_linear_index(walk elements, c10::DeviceIndex device, const indexed& index,
                         bool is_first) {
  if (elements.count() == 0) return;
  elements.simplify();
  const kernels::packed_kernel& kernel = linear_index_kernels.get(device, 0, [&]() -> const auto& {
    return find_kernel(device, "linear_index", "linear_index");
  });
  const c10::Stream stream = core::current_stream(device);
  const core::fault_watch watch(stream);
  if (!elements.fits()) throw no_kernel();
  elements.in_parts([&](const places& lie, const walk& part, int64_t count) {
    launch(stream, kernel, groups_for(count, kernel), lie, count, index,
           static_cast<int32_t>(is_first), part.pointer(walk::out), part.pointer(walk::index),
           device_pointer{watch.word()});
  });
}

void copy_values(const at::Tensor& to, const at::Tensor& from) {
  if (to.numel() == 0) return;
  if (to.scalar_type() == from.scalar_type()) {
    walk elements(to.sizes());
    elements.add(walk::out, to, to.strides());
    elements.add(walk::in, from, from.strides());
    return launch_copy(elements, to.element_size(), to.device().index());
  }
  auto elements = at::TensorIteratorConfig()
                      .set_check_mem_overlap(false)
                      .check_all_same_dtype(false)
                      .resize_outputs(false)
                      .add_output(to)
                      .add_const_input(from)
                      .build();
  // A narrow integer of a floating-point number goes by the floating-point type.
  const bool of_floats =
      c10::isFloatingType(to.scalar_type()) || c10::isFloatingType(from.scalar_type());
  const bool of_doubles = to.scalar_type() == c10::kDouble || from.scalar_type() == c10::kDouble;
  run_elementwise(elements, copy_body, {},
                  of_doubles  ? c10::kDouble
                  : of_floats ? c10::kFloat
                              : c10::kLong);
}

at::Tensor contiguous(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  at::Tensor made = at::empty(tensor.sizes(), tensor.options());
  copy_values(made, tensor);
  return made;
}

}  // namespace outback::portable
