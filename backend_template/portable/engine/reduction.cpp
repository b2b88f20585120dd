#include "backend_template/portable/engine/reduction.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <string>

#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/kernel_shape.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/number_type.h"

namespace outback::portable {
namespace {

// Which dimensions the results keep and which are gone.
struct layout {
  kernel_shape kept, gone;
  int64_t results = 1, values = 1;
};

// Strides of outputs are in bytes, those of the input in units of `input_unit` bytes. The kernel
// knows the input as operand 1, and a second output as operand 2.
layout layout_of(const at::TensorIteratorBase& elements, int64_t input_unit) {
  layout made;
  const int input = elements.noutputs();
  made.kept.types[0] = static_cast<int32_t>(elements.dtype(0));
  made.kept.types[1] = static_cast<int32_t>(elements.dtype(input));
  if (input == 2) made.kept.types[2] = static_cast<int32_t>(elements.dtype(1));
  for (int d = 0; d < elements.ndim(); ++d) {
    const int64_t size = elements.shape()[d];
    const bool is_gone = elements.is_dim_reduced(d);
    kernel_shape& to = is_gone ? made.gone : made.kept;
    to.size[to.dims] = size;
    to.stride[0][to.dims] = elements.strides(0)[d];
    to.stride[1][to.dims] = elements.strides(input)[d] / input_unit;
    if (input == 2) to.stride[2][to.dims] = elements.strides(1)[d];
    ++to.dims;
    (is_gone ? made.values : made.results) *= size;
  }
  if (made.gone.dims == 0) {  // a result of one value
    made.gone.dims = 1;
    made.gone.size[0] = 1;
  }
  return made;
}

// True if an item makes a result by itself: where results are short, and where neighbours read
// neighbouring memory so.
bool goes_by_items(const layout& lie) {
  constexpr int64_t is_short = 32;
  if (lie.values <= is_short) return true;
  return lie.kept.dims != 0 && lie.kept.stride[1][0] < lie.gone.stride[1][0];
}

// In how many parts each result is made, so that a device with many cores is busy.
int64_t parts_of(const layout& lie, bool by_items, int64_t items) {
  constexpr int64_t wanted_groups = 1024;
  const int64_t there = by_items ? lie.results / items + 1 : lie.results;
  const int64_t worth = lie.values / (by_items ? 64 : items * 8);  // values for each part
  return std::clamp<int64_t>(std::min(wanted_groups / there, worth), 1, wanted_groups);
}

enum class role : uint8_t { by_groups, by_items, of_parts };

// A reduction reads memory of its own type, or any type.
struct input_kind {
  bool is_own;
  number_type type;      // of the kernel's name
  number_type computed;  // f32, f64 or i64
};

input_kind kind_of(c10::ScalarType input, c10::ScalarType dtype) {
  const number_type computed = type_computed_in(dtype);
  const auto own = type_of_memory(input);
  if (own && computed == number_type::f32) return {true, *own, computed};
  return {false, computed, computed};
}

const kernels::packed_kernel& find(c10::DeviceIndex device, const char* name,
                                   const input_kind& kind, role as) {
  const bool is_parts = as == role::of_parts;
  const std::string type = name_of(is_parts ? kind.computed : kind.type);
  const std::string form = is_parts ? "_parts_" : kind.is_own ? "_" : "_any_";
  return find_kernel(device, "reduce_" + type,
                     name + form + (as == role::by_items ? "each_" : "") + type);
}

size_t slot_of(const input_kind& kind, role as) {
  const size_t form = kind.is_own ? static_cast<size_t>(kind.type)  // f32, f16, bf16
                                  : 3 + (kind.type == number_type::f32   ? 0
                                         : kind.type == number_type::f64 ? 1
                                                                         : 2);
  return form * 3 + static_cast<size_t>(as);
}

template <class Launch>
void with_number(number_type type, double value, const Launch& launch_with) {
  switch (type) {
    case number_type::f32:
      return launch_with(static_cast<float>(value));
    case number_type::f64:
      return launch_with(value);
    default:
      return launch_with(static_cast<int64_t>(value));
  }
}

c10::ScalarType dtype_of(number_type computed) {
  return computed == number_type::f32   ? c10::kFloat
         : computed == number_type::f64 ? c10::kDouble
                                        : c10::kLong;
}

// Everything that the launches of one reduction have in common.
struct plan {
  c10::DeviceIndex device;
  input_kind kind;
  layout lie;
  bool by_items;

  plan(const at::TensorIteratorBase& elements, c10::ScalarType dtype)
      : device(elements.device(0).index()),
        kind(kind_of(elements.dtype(elements.noutputs()), dtype)),
        lie(layout_of(elements,
                      kind.is_own ? elements.element_size(elements.noutputs()) : int64_t{1})),
        by_items(goes_by_items(lie)) {}

  role as() const { return by_items ? role::by_items : role::by_groups; }
};

// Memory for parts, which may go back to the allocator once the launches are enqueued.
at::Tensor parts_memory(const plan& how, int64_t values) {
  return at::empty(
      {values},
      at::device(c10::Device(core::device_type, how.device)).dtype(dtype_of(how.kind.computed)));
}

// The launches of a reduction by groups or by items: one, or two if results are made in parts.
struct steps {
  const kernels::packed_kernel& first;
  const kernels::packed_kernel* second;  // null: one launch
  int64_t parts;
  int64_t groups;  // of the first launch
  at::Tensor partial;
};

// `values_of_part` is how many numbers the first launch leaves for each part of a result.
steps steps_of(const plan& how, kernel_cache<18>& kernels, const char* name,
               int64_t values_of_part) {
  const auto get = [&](role as) -> const kernels::packed_kernel& {
    return kernels.get(how.device, slot_of(how.kind, as), [&]() -> const kernels::packed_kernel& {
      return find(how.device, name, how.kind, as);
    });
  };
  const kernels::packed_kernel& first = get(how.as());
  const int64_t parts = parts_of(how.lie, how.by_items, first.items);
  const int64_t made = how.lie.results * parts;
  const int64_t groups = how.by_items ? groups_for(made, first) : made;
  if (parts == 1) return {first, nullptr, parts, groups, {}};
  return {first, &get(role::of_parts), parts, groups, parts_memory(how, made * values_of_part)};
}

}  // namespace

void run_reduction(const at::TensorIteratorBase& elements, reduction& which, c10::ScalarType dtype,
                   double s) {
  if (which.of_floats && !c10::isFloatingType(dtype)) throw no_kernel();
  const plan how(elements, dtype);
  const layout& lie = how.lie;
  const steps run = steps_of(how, which.kernels, which.name, 1);
  const c10::Stream stream = core::current_stream(how.device);
  const device_pointer out{elements.data_ptr(0)}, in{elements.data_ptr(1)};
  const device_pointer partial = pointer_to(run.partial);
  with_number(how.kind.computed, s, [&](auto number) {
    launch(stream, run.first, run.groups, lie.kept, lie.gone, lie.results, lie.values, run.parts,
           number, partial, out, in);
    if (run.second == nullptr) return;
    launch(stream, *run.second, lie.results, lie.kept, lie.values, run.parts, number, out, partial);
  });
}

void run_variance(const at::TensorIteratorBase& elements, double correction, bool take_root,
                  const at::Tensor& mean) {
  static constinit kernel_cache<18> kernels;
  const plan how(elements, elements.dtype(1));
  if (how.kind.computed == number_type::i64) throw no_kernel();
  const layout& lie = how.lie;
  const steps run = steps_of(how, kernels, "variance", 3);
  const c10::Stream stream = core::current_stream(how.device);
  const device_pointer out{elements.data_ptr(0)}, in{elements.data_ptr(1)};
  const device_pointer partial = pointer_to(run.partial), to_mean = pointer_to(mean);
  const int32_t root = take_root ? 1 : 0;
  with_number(how.kind.computed, correction, [&](auto number) {
    launch(stream, run.first, run.groups, lie.kept, lie.gone, lie.results, lie.values, run.parts,
           number, root, partial, out, to_mean, in);
    if (run.second == nullptr) return;
    launch(stream, *run.second, lie.results, lie.kept, lie.values, run.parts, number, root, out,
           to_mean, partial);
  });
}

void run_extreme(const at::TensorIteratorBase& elements, bool is_largest) {
  static constinit std::array<kernel_cache<18>, 2> kernels;
  const int input = elements.noutputs();
  const plan how(elements, elements.dtype(input));
  const kernels::packed_kernel& kernel = kernels[is_largest ? 1 : 0].get(
      how.device, slot_of(how.kind, role::by_groups), [&]() -> const kernels::packed_kernel& {
        return find(how.device, is_largest ? "argmax" : "argmin", how.kind, role::by_groups);
      });
  const c10::Stream stream = core::current_stream(how.device);
  const device_pointer value{input == 2 ? elements.data_ptr(1) : nullptr};
  launch(stream, kernel, how.lie.results, how.lie.kept, how.lie.gone, how.lie.values, value,
         device_pointer{elements.data_ptr(0)}, device_pointer{elements.data_ptr(input)});
}

}  // namespace outback::portable
