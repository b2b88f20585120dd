// Random numbers. PyTorch's templates check the arguments, as for the CPU and for CUDA, and a
// launch stands where their kernels are.
#include <ATen/native/DistributionTemplates.h>
#include <ATen/ops/bernoulli_ops.h>
#include <ATen/ops/cauchy_ops.h>
#include <ATen/ops/exponential_ops.h>
#include <ATen/ops/geometric_ops.h>
#include <ATen/ops/log_normal_ops.h>
#include <ATen/ops/normal_ops.h>
#include <ATen/ops/random_ops.h>
#include <ATen/ops/uniform_ops.h>

#include <cmath>
#include <limits>

#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/draws.h"
#include "backend_template/portable/engine/in_order.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/operator.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

using given_generator = std::optional<at::Generator>;
namespace templates = at::native::templates;

constinit kernel_family uniform_kernels("random", "uniform");
constinit kernel_family normal_kernels("random", "normal");
constinit kernel_family log_normal_kernels("random", "log_normal");
constinit kernel_family exponential_kernels("random", "exponential");
constinit kernel_family cauchy_kernels("random", "cauchy");
constinit kernel_family geometric_kernels("random", "geometric");
constinit kernel_family bernoulli_kernels("random", "bernoulli");
constinit kernel_family bernoulli_of_kernels("random", "bernoulli_of");
constinit kernel_family integers_kernels("random", "integers");

// Calls `fill` with a tensor whose elements lie in one line, and `self` has what it writes.
template <class Fill>
void fill_in_line(const at::Tensor& self, const Fill& fill) {
  if (self.is_non_overlapping_and_dense()) return fill(self);
  const at::Tensor line = at::empty(self.sizes(), self.options());
  fill(line);
  self.copy_(line);
}

// Launches a kernel of so many values a turn that fills `self`.
template <class... Arguments>
void launch_draws(const at::Tensor& self, const kernels::packed_kernel& kernel,
                  const given_generator& generator, int values, const Arguments&... arguments) {
  const c10::DeviceIndex device = self.device().index();
  const draws drawn = take_draws(generator, device, self.numel(), values);
  launch(core::current_stream(device), kernel, drawn.groups_of(kernel), drawn, arguments...);
}

// The kernels of floating-point types, which take numbers.
template <class... Reals>
void fill_floats(const at::Tensor& self, kernel_family& family, const given_generator& generator,
                 Reals... reals) {
  const number_type type = type_of_floats(self.scalar_type());
  const kernels::packed_kernel& kernel = family.of(self.device().index(), type);
  fill_in_line(self, [&](const at::Tensor& line) {
    with_computed_type(type, [&]<class C>(C /*zero*/) {
      launch_draws(line, kernel, generator, type == number_type::f64 ? 2 : 4,
                   static_cast<C>(reals)..., device_pointer{line.mutable_data_ptr()});
    });
  });
}

// The kernels that write any type: `arguments`, then the type's number, its size and the memory.
template <class... Arguments>
void fill_any(const at::Tensor& self, const kernels::packed_kernel& kernel,
              const given_generator& generator, int values, const Arguments&... arguments) {
  fill_in_line(self, [&](const at::Tensor& line) {
    launch_draws(
        line, kernel, generator, values, arguments..., static_cast<int32_t>(line.scalar_type()),
        static_cast<int32_t>(line.element_size()), device_pointer{line.mutable_data_ptr()});
  });
}

// ---- Floating-point numbers

// The bounds of uniform_ as values of a dtype, and the largest value below `high`.
struct bounds {
  double low, high, last;
};

template <class T>
T value_below(T high) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::nextafter(high, -std::numeric_limits<T>::infinity());
  } else {
    constexpr uint16_t sign = 0x8000;
    if (high == 0) return T(sign + 1, T::from_bits());
    return T(high.x & sign ? high.x + 1 : high.x - 1, T::from_bits());
  }
}

template <class T>
bounds bounds_in(double from, double to) {
  const T low = static_cast<T>(from), high = static_cast<T>(to);
  return {static_cast<double>(low), static_cast<double>(high),
          static_cast<double>(low < high ? value_below(high) : low)};
}

bounds bounds_in(c10::ScalarType dtype, double from, double to) {
  switch (dtype) {
    case c10::kHalf:
      return bounds_in<c10::Half>(from, to);
    case c10::kBFloat16:
      return bounds_in<c10::BFloat16>(from, to);
    case c10::kFloat:
      return bounds_in<float>(from, to);
    default:
      return bounds_in<double>(from, to);
  }
}

template <class>
struct uniform {
  void operator()(const at::TensorIteratorBase& iter, double from, double to,
                  const given_generator& generator) const {
    const at::Tensor& self = iter.tensor(0);
    const auto [low, high, last] = bounds_in(self.scalar_type(), from, to);
    fill_floats(self, uniform_kernels, generator, low, high, last);
  }
};

template <class>
struct normal {
  void operator()(const at::Tensor& self, double mean, double deviation,
                  const given_generator& generator) const {
    fill_floats(self, normal_kernels, generator, mean, deviation);
  }
};

template <class>
struct log_normal {
  void operator()(const at::TensorIteratorBase& iter, double mean, double deviation,
                  const given_generator& generator) const {
    fill_floats(iter.tensor(0), log_normal_kernels, generator, mean, deviation);
  }
};

template <class>
struct exponential {
  void operator()(const at::TensorIteratorBase& iter, double lambda,
                  const given_generator& generator) const {
    fill_floats(iter.tensor(0), exponential_kernels, generator, -1 / lambda);
  }
};

template <class>
struct cauchy {
  void operator()(const at::TensorIteratorBase& iter, double median, double sigma,
                  const given_generator& generator) const {
    fill_floats(iter.tensor(0), cauchy_kernels, generator, median, sigma);
  }
};

at::Tensor& uniform_(at::Tensor& self, double from, double to, given_generator generator) {
  return templates::uniform_impl_<uniform, core::generator>(self, from, to, std::move(generator));
}

at::Tensor& normal_(at::Tensor& self, double mean, double std, given_generator generator) {
  return templates::normal_impl_<normal, core::generator>(self, mean, std, std::move(generator));
}

at::Tensor& log_normal_(at::Tensor& self, double mean, double std, given_generator generator) {
  return templates::log_normal_impl_<log_normal, core::generator>(self, mean, std,
                                                                  std::move(generator));
}

at::Tensor& exponential_(at::Tensor& self, double lambda, given_generator generator) {
  return templates::exponential_impl_<exponential, core::generator>(self, lambda,
                                                                    std::move(generator));
}

at::Tensor& cauchy_(at::Tensor& self, double median, double sigma, given_generator generator) {
  return templates::cauchy_impl_<cauchy, core::generator>(self, median, sigma,
                                                          std::move(generator));
}

// ---- Normal numbers around tensors: of the device, since the result is where they are

template <class... Tensors>
void expect_ours(const Tensors&... tensors) {
  if (!(ops::is_ours(tensors) && ...)) throw no_kernel();
}

at::Tensor normal_around(const at::Tensor& mean, double std, given_generator generator) {
  type_of_floats(mean.scalar_type());
  return templates::normal_impl<normal, core::generator>(mean, std, std::move(generator));
}

at::Tensor normal_within(double mean, const at::Tensor& std, given_generator generator) {
  type_of_floats(std.scalar_type());
  return templates::normal_impl<normal, core::generator>(mean, std, std::move(generator));
}

at::Tensor normal_of(const at::Tensor& mean, const at::Tensor& std, given_generator generator) {
  expect_ours(mean, std);
  type_of_floats(mean.scalar_type());
  return templates::normal_impl<normal, core::generator>(mean, std, std::move(generator));
}

at::Tensor& normal_around_out(const at::Tensor& mean, double std, given_generator generator,
                              at::Tensor& out) {
  expect_ours(mean, out);
  return templates::normal_out_impl<normal, core::generator>(out, mean, std, std::move(generator));
}

at::Tensor& normal_within_out(double mean, const at::Tensor& std, given_generator generator,
                              at::Tensor& out) {
  expect_ours(std, out);
  return templates::normal_out_impl<normal, core::generator>(out, mean, std, std::move(generator));
}

at::Tensor& normal_of_out(const at::Tensor& mean, const at::Tensor& std, given_generator generator,
                          at::Tensor& out) {
  expect_ours(mean, std, out);
  return templates::normal_out_impl<normal, core::generator>(out, mean, std, std::move(generator));
}

// ---- Integers, of any dtype

// How many numbers random_() chooses from, beginning with 0.
uint64_t range_of(c10::ScalarType dtype) {
  const auto above = [](auto largest) { return static_cast<uint64_t>(largest) + 1; };
  switch (dtype) {
    case c10::kBool:
      return 2;
    case c10::kByte:
      return above(std::numeric_limits<uint8_t>::max());
    case c10::kChar:
      return above(std::numeric_limits<int8_t>::max());
    case c10::kShort:
      return above(std::numeric_limits<int16_t>::max());
    case c10::kInt:
      return above(std::numeric_limits<int32_t>::max());
    case c10::kLong:
      return above(std::numeric_limits<int64_t>::max());
    case c10::kHalf:
      return above(uint64_t{1} << std::numeric_limits<c10::Half>::digits);
    case c10::kBFloat16:
      return above(uint64_t{1} << std::numeric_limits<c10::BFloat16>::digits);
    case c10::kFloat:
      return above(uint64_t{1} << std::numeric_limits<float>::digits);
    case c10::kDouble:
      return above(uint64_t{1} << std::numeric_limits<double>::digits);
    default:
      throw no_kernel();
  }
}

// A range of 0 is 2^64.
void fill_integers(const at::Tensor& self, uint64_t range, int64_t from,
                   const given_generator& generator) {
  fill_any(self, integers_kernels.of(self.device().index(), number_type::i64), generator, 2, range,
           from);
}

template <class>
struct any_integer {
  void operator()(const at::TensorIteratorBase& iter, const given_generator& generator) const {
    fill_integers(iter.tensor(0), range_of(iter.tensor(0).scalar_type()), 0, generator);
  }
};

template <class>
struct integer_from {
  void operator()(const at::TensorIteratorBase& iter, uint64_t range, int64_t from,
                  const given_generator& generator) const {
    fill_integers(iter.tensor(0), range, from, generator);
  }
  void operator()(const at::TensorIteratorBase& iter, const given_generator& generator) const {
    fill_integers(iter.tensor(0), 0, 0, generator);
  }
};

template <class>
struct geometric {
  void operator()(const at::TensorIteratorBase& iter, double p,
                  const given_generator& generator) const {
    const at::Tensor& self = iter.tensor(0);
    if (self.scalar_type() == c10::kBool) throw no_kernel();  // torch refuses it
    const number_type type =
        self.scalar_type() == c10::kDouble ? number_type::f64 : number_type::f32;
    const kernels::packed_kernel& kernel = geometric_kernels.of(self.device().index(), type);
    const double scale = 1 / std::log1p(-p);
    with_computed_type(type, [&]<class C>(C /*zero*/) {
      fill_any(self, kernel, generator, type == number_type::f64 ? 2 : 4, static_cast<C>(scale));
    });
  }
};

at::Tensor& random_(at::Tensor& self, given_generator generator) {
  return templates::random_impl<any_integer, core::generator>(self, std::move(generator));
}

at::Tensor& random_from(at::Tensor& self, int64_t from, std::optional<int64_t> to,
                        given_generator generator) {
  return templates::random_from_to_impl<integer_from, core::generator>(self, from, to,
                                                                       std::move(generator));
}

at::Tensor& random_to(at::Tensor& self, int64_t to, given_generator generator) {
  return random_from(self, 0, to, std::move(generator));
}

at::Tensor& geometric_(at::Tensor& self, double p, given_generator generator) {
  return templates::geometric_impl_<geometric, core::generator>(self, p, std::move(generator));
}

// ---- Truth values, of any dtype

template <class>
struct truth {
  void operator()(const at::Tensor& self, double p, const given_generator& generator) const {
    const auto& kernel = bernoulli_kernels.of(self.device().index(), number_type::i64);
    fill_any(self, kernel, generator, 4, in_words(p));
  }
};

// A probability outside of [0, 1] counts as 0 or 1: nothing on the host reads it.
template <class>
struct truth_of {
  void operator()(const at::Tensor& self, const at::Tensor& p,
                  const given_generator& generator) const {
    const auto& kernel =
        bernoulli_of_kernels.of(self.device().index(), type_of_floats(p.scalar_type()));
    fill_in_line(self, [&](const at::Tensor& line) {
      const at::Tensor each = in_order(p.expand(line.sizes()), line);
      launch_draws(line, kernel, generator, 4, device_pointer{each.const_data_ptr()},
                   static_cast<int32_t>(line.scalar_type()),
                   static_cast<int32_t>(line.element_size()),
                   device_pointer{line.mutable_data_ptr()});
    });
  }
};

at::Tensor& bernoulli_(at::Tensor& self, double p, given_generator generator) {
  return templates::bernoulli_impl_<truth, core::generator>(self, p, std::move(generator));
}

at::Tensor& bernoulli_of_(at::Tensor& self, const at::Tensor& p, given_generator generator) {
  expect_ours(self);
  type_of_floats(p.scalar_type());
  if (p.is_cpu()) return bernoulli_(self, p.item<double>(), std::move(generator));
  return templates::bernoulli_impl_<truth_of, core::generator>(self, p, std::move(generator));
}

at::Tensor& bernoulli_out(const at::Tensor& p, given_generator generator, at::Tensor& out) {
  expect_ours(p, out);
  type_of_floats(p.scalar_type());
  return templates::bernoulli_out_impl<truth_of, core::generator>(out, p, std::move(generator));
}

}  // namespace

void add_random(ops::registrar& to) {
  namespace ops = at::_ops;

  add<ops::uniform_, &uniform_>(to);
  add<ops::normal_, &normal_>(to);
  add<ops::log_normal_, &log_normal_>(to);
  add<ops::exponential_, &exponential_>(to);
  add<ops::cauchy_, &cauchy_>(to);
  add<ops::normal_Tensor_float, &normal_around>(to);
  add<ops::normal_float_Tensor, &normal_within>(to);
  add<ops::normal_Tensor_Tensor, &normal_of>(to);
  add<ops::normal_Tensor_float_out, &normal_around_out>(to);
  add<ops::normal_float_Tensor_out, &normal_within_out>(to);
  add<ops::normal_Tensor_Tensor_out, &normal_of_out>(to);
  add<ops::random_, &random_>(to);
  add<ops::random__from, &random_from>(to);
  add<ops::random__to, &random_to>(to);
  add<ops::geometric_, &geometric_>(to);
  add<ops::bernoulli__float, &bernoulli_>(to);
  add<ops::bernoulli__Tensor, &bernoulli_of_>(to);
  add<ops::bernoulli_out, &bernoulli_out>(to);
}

}  // namespace outback::portable
