// arange, linspace and eye.
#include <ATen/Dispatch.h>
#include <ATen/native/RangeUtils.h>

#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/index_kernels.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/number_type.h"
#include "backend_template/portable/engine/numbers.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

constinit kernel_family arange_kernels("range", "arange");
constinit kernel_family linspace_kernels("range", "linspace");

int64_t size_of_range(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                      c10::ScalarType dtype) {
  int64_t size = 0;
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, dtype, "arange", [&] {
    // As the CPU does, refuses numbers that the dtype cannot have.
    start.to<at::acc_type<scalar_t, false>>();
    step.to<at::acc_type<scalar_t, false>>();
    size = at::native::compute_arange_size<scalar_t>(start, end, step);
  });
  return size;
}

// A vector, or a contiguous tensor of another shape. False if numbers in a line do not fill `out`.
bool is_line(const at::Tensor& out) {
  return out.dim() == 1 || out.is_contiguous();
}
int64_t step_of(const at::Tensor& out) {
  return (out.dim() == 1 ? out.stride(0) : 1) * out.element_size();
}

at::Tensor& arange_out(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                       at::Tensor& out) {
  const auto decline = [&]() -> at::Tensor& {
    return next<at::_ops::arange_start_out>::call(start, end, step, out);
  };
  if (out.scalar_type() == c10::kBool) return decline();
  const int64_t size = size_of_range(start, end, step, out.scalar_type());
  // The CPU warns of an output of another size.
  if (out.numel() != size && out.numel() > 0) return decline();
  if (out.numel() != size) out.resize_({size});
  if (!is_line(out)) return decline();
  if (size == 0) return out;
  const c10::DeviceIndex device = out.device().index();
  const number_type type = type_computed_in(out.scalar_type());
  const kernels::packed_kernel& kernel = arange_kernels.of(device, type);
  const auto run = [&]<class C>(C first, C by) {
    launch(core::current_stream(device), kernel, groups_for(size, kernel), size, first, by,
           step_of(out), static_cast<int32_t>(out.scalar_type()), device_pointer{out.data_ptr()});
  };
  switch (type) {
    case number_type::f32:
      run(start.to<float>(), step.to<float>());
      break;
    case number_type::f64:
      run(start.to<double>(), step.to<double>());
      break;
    default:
      run(start.to<int64_t>(), step.to<int64_t>());
  }
  return out;
}

at::Tensor& linspace_out(const at::Scalar& start, const at::Scalar& end, int64_t steps,
                         at::Tensor& out) {
  const auto decline = [&]() -> at::Tensor& {
    return next<at::_ops::linspace_out>::call(start, end, steps, out);
  };
  // The CPU computes integers in float64.
  if (steps < 0 || !c10::isFloatingType(out.scalar_type())) return decline();
  if (out.numel() != steps) out.resize_({steps});
  if (!is_line(out)) return decline();
  if (steps == 0) return out;
  const c10::DeviceIndex device = out.device().index();
  const number_type type = type_computed_in(out.scalar_type());
  const kernels::packed_kernel& kernel = linspace_kernels.of(device, type);
  const auto run = [&]<class C>(C first, C last) {
    const C by = steps > 1 ? (last - first) / static_cast<C>(steps - 1) : 0;
    launch(core::current_stream(device), kernel, groups_for(steps, kernel), steps, first,
           steps > 1 ? last : first, by, step_of(out), static_cast<int32_t>(out.scalar_type()),
           device_pointer{out.data_ptr()});
  };
  if (type == number_type::f64) {
    run(start.to<double>(), end.to<double>());
  } else {
    run(start.to<float>(), end.to<float>());
  }
  return out;
}

// Zeros, and ones on the diagonal: arange by 0.
at::Tensor& eye_m_out(c10::SymInt rows, c10::SymInt columns, at::Tensor& out) {
  const int64_t n = rows.guard_int(__FILE__, __LINE__), m = columns.guard_int(__FILE__, __LINE__);
  if (n < 0 || m < 0) return next<at::_ops::eye_m_out>::call(rows, columns, out);
  out.resize_({n, m});
  out.zero_();
  const int64_t size = std::min(n, m);
  if (size == 0) return out;
  const c10::DeviceIndex device = out.device().index();
  const number_type type = type_computed_in(out.scalar_type());
  const kernels::packed_kernel& kernel = arange_kernels.of(device, type);
  const auto run = [&]<class C>(C one, C by) {
    launch(core::current_stream(device), kernel, groups_for(size, kernel), size, one, by,
           (out.stride(0) + out.stride(1)) * out.element_size(),
           static_cast<int32_t>(out.scalar_type()), device_pointer{out.data_ptr()});
  };
  switch (type) {
    case number_type::f32:
      run(1.0F, 0.0F);
      break;
    case number_type::f64:
      run(1.0, 0.0);
      break;
    default:
      run(int64_t{1}, int64_t{0});
  }
  return out;
}

at::Tensor& eye_out(c10::SymInt rows, at::Tensor& out) {
  return eye_m_out(rows, rows, out);
}

}  // namespace

void add_ranges(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::arange_start_out, &arange_out>(to);
  add<ops::linspace_out, &linspace_out>(to);
  add<ops::eye_out, &eye_out>(to);
  add<ops::eye_m_out, &eye_m_out>(to);
}

}  // namespace outback::portable
