// Reductions: sums, products, extremes, truth values, norms, variances.
#include <ATen/Functions.h>
#include <ATen/OpMathType.h>
#include <ATen/native/ReduceOpsUtils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "backend_template/portable/engine/elementwise.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"
#include "backend_template/portable/engine/reduction.h"

namespace outback::portable {
namespace {

constinit reduction sum_of("sum");
constinit reduction nansum_of("nansum", true);
constinit reduction mean_of("mean", true);
constinit reduction prod_of("prod");
constinit reduction amax_of("amax");
constinit reduction amin_of("amin");
constinit reduction all_of("all");
constinit reduction any_of("any");
constinit reduction xor_of("xor_sum");
constinit reduction norm_0("norm_0", true);
constinit reduction norm_1("norm_1", true);
constinit reduction norm_2("norm_2", true);
constinit reduction norm_most("norm_most", true);
constinit reduction norm_least("norm_least", true);
constinit reduction norm_of("norm", true);

// Reduces `self` to `out`, whose sizes are those that PyTorch's meta function has set. `nothing` is
// the result of no values.
void reduce(const at::Tensor& self, const at::Tensor& out, at::OptionalIntArrayRef dims,
            bool keepdim, reduction& which, c10::ScalarType dtype, const at::Scalar& nothing,
            double s = 0) {
  if (out.numel() == 0) return;
  // PyTorch makes each value a bool first; kernels would read 0.5 as the integer 0.
  if (dtype == c10::kBool && self.scalar_type() != c10::kBool) throw no_kernel();
  if (self.numel() == 0) {
    out.fill_(nothing);
    return;
  }
  const at::TensorIterator elements =
      at::meta::make_reduction(self, out, dims, keepdim, self.scalar_type());
  run_reduction(elements, which, dtype, s);
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct sum : at::meta::structured_sum_dim_IntList {
  void impl(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
            std::optional<c10::ScalarType> /*dtype*/, const at::Tensor& out) {
    reduce(self, out, dims, keepdim, sum_of, out.scalar_type(), 0);
  }
};

struct mean : at::meta::structured_mean_dim {
  void impl(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
            std::optional<c10::ScalarType> /*dtype*/, const at::Tensor& out) {
    reduce(self, out, dims, keepdim, mean_of, out.scalar_type(), nan);
  }
};

struct prod : at::meta::structured_prod_dim_int {
  void impl(const at::Tensor& self, int64_t dim, bool keepdim,
            std::optional<c10::ScalarType> /*dtype*/, const at::Tensor& out) {
    reduce(self, out, at::OptionalIntArrayRef(dim), keepdim, prod_of, out.scalar_type(), 1);
  }
};

template <class Meta, reduction& which>
struct extreme_value : Meta {
  void impl(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, const at::Tensor& out) {
    reduce(self, out, dims, keepdim, which, self.scalar_type(), 0);
  }
};

template <class Meta, reduction& which>
struct truth : Meta {
  static constexpr bool of_nothing = &which == &all_of;

  void impl(const at::Tensor& self, const at::Tensor& out) {
    reduce(self, out, at::OptionalIntArrayRef(), false, which, self.scalar_type(), of_nothing);
  }
  void impl(const at::Tensor& self, int64_t dim, bool keepdim, const at::Tensor& out) {
    reduce(self, out, at::OptionalIntArrayRef(dim), keepdim, which, self.scalar_type(), of_nothing);
  }
  void impl(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
            const at::Tensor& out) {
    reduce(self, out, dims, keepdim, which, self.scalar_type(), of_nothing);
  }
};

// Of no values PyTorch gives 0, and the norms of orders below 0 and infinity are refused before.
void norm(const at::Tensor& self, double order, at::OptionalIntArrayRef dims, bool keepdim,
          const at::Tensor& out) {
  reduction& which = order == 0           ? norm_0
                     : order == 1         ? norm_1
                     : order == 2         ? norm_2
                     : order == infinity  ? norm_most
                     : order == -infinity ? norm_least
                                          : norm_of;
  reduce(self, out, dims, keepdim, which, out.scalar_type(), order < 0 ? infinity : 0.0, order);
}

struct vector_norm : at::meta::structured_linalg_vector_norm {
  void impl(const at::Tensor& self, const at::Scalar& order, at::OptionalIntArrayRef dims,
            bool keepdim, std::optional<c10::ScalarType> /*dtype*/, const at::Tensor& out) {
    norm(self, order.toDouble(), dims, keepdim, out);
  }
};

struct norm_of_dims : at::meta::structured_norm_ScalarOpt_dim {
  void impl(const at::Tensor& self, at::OptionalScalarRef order, at::IntArrayRef dims, bool keepdim,
            const at::Tensor& out) {
    norm(self, order ? order.get().toDouble() : 2.0, dims, keepdim, out);
  }
};

struct norm_of_dtype : at::meta::structured_norm_ScalarOpt_dim_dtype {
  void impl(const at::Tensor& self, at::OptionalScalarRef order, at::IntArrayRef dims, bool keepdim,
            c10::ScalarType /*dtype*/, const at::Tensor& out) {
    norm(self, order ? order.get().toDouble() : 2.0, dims, keepdim, out);
  }
};

constinit body renorm_factor_body("renorm_factor", 1, body::kind::floats);

struct renorm : at::meta::structured_renorm {
  void impl(const at::Tensor& self, const at::Scalar& order, int64_t dim, const at::Scalar& most,
            const at::Tensor& out) {
    c10::DimVector dims;
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (d != at::maybe_wrap_dim(dim, self.dim())) dims.push_back(d);
    }
    // The norms of 16-bit types are float32, as on CUDA.
    const c10::ScalarType dtype = at::toOpMathType(self.scalar_type());
    const at::Tensor norms = at::linalg_vector_norm(self, order, dims, true, dtype);
    const at::Tensor factors = at::empty(norms.sizes(), self.options());
    auto elements = at::TensorIteratorConfig()
                        .check_all_same_dtype(false)
                        .add_output(factors)
                        .add_const_input(norms)
                        .build();
    run_elementwise(elements, renorm_factor_body, numbers(most), dtype);
    at::Tensor result = out;
    at::mul_out(result, self, factors);
  }
};

// Since torch 2.13.
#if __has_include(<ATen/ops/linalg__powsum_ops.h>)
at::Tensor powsum(const at::Tensor& self, const at::Scalar& order, at::OptionalIntArrayRef dims,
                  bool keepdim, std::optional<c10::ScalarType> dtype) {
  const c10::ScalarType result = dtype.value_or(self.scalar_type());
  if (!self.is_floating_point() || !c10::isFloatingType(result)) throw no_kernel();
  const at::Tensor values =
      self.to(at::toOpMathType(c10::promoteTypes(result, self.scalar_type())));
  return at::sum(values.abs().pow(order), dims, keepdim, result);
}
#endif

// All values' bits as float64 and int64, by exclusive or.
struct hash : at::meta::structured_hash_tensor {
  void impl(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, int64_t mode,
            const at::Tensor& out) {
    if (mode != 0) throw no_kernel();  // there is no other
    const at::Tensor bits =
        self.is_floating_point() ? self.to(c10::kDouble).view(c10::kLong) : self;
    reduce(bits, out.view(c10::kLong), dims, keepdim, xor_of, c10::kLong, 0);
  }
};

// Places along one dimension, or in the flattened tensor.
void find_place(const at::Tensor& self, std::optional<int64_t> dim, bool keepdim,
                const at::Tensor& out, bool is_largest) {
  if (out.numel() == 0) return;
  if (self.dim() == 0) {
    out.fill_(0);
    return;
  }
  const at::Tensor values = dim ? self : self.contiguous().view({-1});
  const at::Tensor places = dim ? out : out.view(at::IntArrayRef{});
  const at::TensorIterator elements =
      at::meta::make_reduction(values, places, at::OptionalIntArrayRef(dim.value_or(0)),
                               dim && keepdim, values.scalar_type());
  run_extreme(elements, is_largest);
}

struct argmax : at::meta::structured_argmax {
  void impl(const at::Tensor& self, std::optional<int64_t> dim, bool keepdim,
            const at::Tensor& out) {
    find_place(self, dim, keepdim, out, true);
  }
};

struct argmin : at::meta::structured_argmin {
  void impl(const at::Tensor& self, std::optional<int64_t> dim, bool keepdim,
            const at::Tensor& out) {
    find_place(self, dim, keepdim, out, false);
  }
};

// Values and their places along one dimension.
std::tuple<at::Tensor, at::Tensor> both_of(const at::Tensor& self, int64_t dim, bool keepdim,
                                           bool is_largest) {
  const int64_t along = at::maybe_wrap_dim(dim, self.dim());
  if (self.is_complex() || (self.dim() != 0 && self.size(along) == 0)) throw no_kernel();
  c10::SmallVector<int64_t, 8> sizes(self.sizes().begin(), self.sizes().end());
  if (self.dim() != 0) {
    if (keepdim) {
      sizes[along] = 1;
    } else {
      sizes.erase(sizes.begin() + along);
    }
  }
  at::Tensor value = at::empty(sizes, self.options());
  at::Tensor place = at::empty(sizes, self.options().dtype(c10::kLong));
  if (place.numel() != 0) {
    if (self.dim() == 0) {
      value.copy_(self);
      place.fill_(0);
    } else {
      const auto viewed = [&](const at::Tensor& one) {
        return keepdim ? one : one.unsqueeze(along);
      };
      const at::Tensor places = viewed(place).expand_as(self),
                       values = viewed(value).expand_as(self);
      const at::TensorIterator elements = at::TensorIteratorConfig()
                                              .set_check_mem_overlap(false)
                                              .check_all_same_dtype(false)
                                              .resize_outputs(false)
                                              .is_reduction(true)
                                              .declare_static_shape(self.sizes())
                                              .add_output(places)
                                              .add_output(values)
                                              .add_const_input(self)
                                              .build();
      run_extreme(elements, is_largest);
    }
  }
  return {std::move(value), std::move(place)};
}

std::tuple<at::Tensor, at::Tensor> max_dim(const at::Tensor& self, int64_t dim, bool keepdim) {
  return both_of(self, dim, keepdim, true);
}

std::tuple<at::Tensor, at::Tensor> min_dim(const at::Tensor& self, int64_t dim, bool keepdim) {
  return both_of(self, dim, keepdim, false);
}

at::Tensor max(const at::Tensor& self) {
  if (self.numel() == 0) throw no_kernel();
  return at::amax(self);
}

at::Tensor min(const at::Tensor& self) {
  if (self.numel() == 0) throw no_kernel();
  return at::amin(self);
}

struct aminmax : at::meta::structured_aminmax {
  void impl(const at::Tensor& self, std::optional<int64_t> dim, bool keepdim,
            const at::Tensor& least, const at::Tensor& most) {
    const at::OptionalIntArrayRef dims = dim ? at::OptionalIntArrayRef(*dim) : std::nullopt;
    reduce(self, least, dims, keepdim, amin_of, self.scalar_type(), 0);
    reduce(self, most, dims, keepdim, amax_of, self.scalar_type(), 0);
  }
};

at::Tensor prod_of_all(const at::Tensor& self, std::optional<c10::ScalarType> dtype) {
  const c10::ScalarType result = dtype.value_or(
      c10::isIntegralType(self.scalar_type(), true) ? c10::kLong : self.scalar_type());
  at::Tensor out = at::empty(at::IntArrayRef{}, self.options().dtype(result));
  reduce(self, out, at::OptionalIntArrayRef(), false, prod_of, result, 1);
  return out;
}

at::Tensor nansum(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
                  std::optional<c10::ScalarType> dtype) {
  if (!c10::isFloatingType(self.scalar_type())) return at::sum(self, dims, keepdim, dtype);
  const c10::ScalarType result = dtype.value_or(self.scalar_type());
  at::Tensor out =
      at::native::create_reduction_result(self, dims.value_or(at::IntArrayRef{}), keepdim, result);
  reduce(self, out, dims, keepdim, nansum_of, result, 0);
  return out;
}

at::Tensor count_nonzero(const at::Tensor& self, at::IntArrayRef dims) {
  return at::sum(at::ne(self, 0), dims);
}

at::Tensor trace(const at::Tensor& self) {
  if (self.dim() != 2 || self.scalar_type() == c10::kBool) throw no_kernel();
  return at::sum(self.diagonal());
}

std::tuple<at::Tensor, at::Tensor> variance_and_mean(const at::Tensor& self,
                                                     at::OptionalIntArrayRef dims,
                                                     const std::optional<at::Scalar>& correction,
                                                     bool keepdim, bool take_root, bool with_mean) {
  if (!c10::isFloatingType(self.scalar_type()) || self.numel() == 0) throw no_kernel();
  at::Tensor out = at::native::create_reduction_result(self, dims.value_or(at::IntArrayRef{}),
                                                       keepdim, self.scalar_type());
  at::Tensor mean = with_mean ? at::empty_like(out) : at::Tensor();
  const at::TensorIterator elements =
      at::meta::make_reduction(self, out, dims, keepdim, self.scalar_type());
  run_variance(elements, correction.value_or(1).toDouble(), take_root, mean);
  return {std::move(out), std::move(mean)};
}

at::Tensor variance(const at::Tensor& self, at::OptionalIntArrayRef dims,
                    const std::optional<at::Scalar>& correction, bool keepdim) {
  return std::get<0>(variance_and_mean(self, dims, correction, keepdim, false, false));
}

at::Tensor deviation(const at::Tensor& self, at::OptionalIntArrayRef dims,
                     const std::optional<at::Scalar>& correction, bool keepdim) {
  return std::get<0>(variance_and_mean(self, dims, correction, keepdim, true, false));
}

std::tuple<at::Tensor, at::Tensor> variance_with_mean(const at::Tensor& self,
                                                      at::OptionalIntArrayRef dims,
                                                      const std::optional<at::Scalar>& correction,
                                                      bool keepdim) {
  return variance_and_mean(self, dims, correction, keepdim, false, true);
}

std::tuple<at::Tensor, at::Tensor> deviation_with_mean(const at::Tensor& self,
                                                       at::OptionalIntArrayRef dims,
                                                       const std::optional<at::Scalar>& correction,
                                                       bool keepdim) {
  return variance_and_mean(self, dims, correction, keepdim, true, true);
}

}  // namespace

void add_reductions(ops::registrar& to) {
  using namespace at::meta;
  namespace ops = at::_ops;
  add_structured<sum, ops::sum_dim_IntList, ops::sum_IntList_out>(to);
  add_structured<mean, ops::mean_dim, ops::mean_out>(to);
  add_structured<prod, ops::prod_dim_int, ops::prod_int_out>(to);
  add_structured<extreme_value<structured_amax, amax_of>, ops::amax, ops::amax_out>(to);
  add_structured<extreme_value<structured_amin, amin_of>, ops::amin, ops::amin_out>(to);
  add_structured<truth<structured_all, all_of>, ops::all, ops::all_all_out>(to);
  add_structured<truth<structured_all_dim, all_of>, ops::all_dim, ops::all_out>(to);
  add_structured<truth<structured_all_dims, all_of>, ops::all_dims, ops::all_dims_out>(to);
  add_structured<truth<structured_any, any_of>, ops::any, ops::any_all_out>(to);
  add_structured<truth<structured_any_dim, any_of>, ops::any_dim, ops::any_out>(to);
  add_structured<truth<structured_any_dims, any_of>, ops::any_dims, ops::any_dims_out>(to);
  add_structured<vector_norm, ops::linalg_vector_norm, ops::linalg_vector_norm_out>(to);
  add_structured<norm_of_dims, ops::norm_ScalarOpt_dim, ops::norm_out>(to);
  add_structured<norm_of_dtype, ops::norm_ScalarOpt_dim_dtype, ops::norm_dtype_out>(to);
  add_structured<renorm, ops::renorm, ops::renorm_, ops::renorm_out>(to);
  add_structured<hash, ops::hash_tensor>(to);
#if __has_include(<ATen/ops/linalg__powsum_ops.h>)
  add<ops::linalg__powsum, &powsum>(to);
#endif
  add_structured<argmax, ops::argmax, ops::argmax_out>(to);
  add_structured<argmin, ops::argmin, ops::argmin_out>(to);
  add_structured<aminmax, ops::aminmax, ops::aminmax_out>(to);
  add<ops::max_dim, &max_dim>(to);
  add<ops::min_dim, &min_dim>(to);
  add<ops::max, &max>(to);
  add<ops::min, &min>(to);
  add<ops::prod, &prod_of_all>(to);
  add<ops::nansum, &nansum>(to);
  add<ops::count_nonzero_dim_IntList, &count_nonzero>(to);
  add<ops::trace, &trace>(to);
  add<ops::var_correction, &variance>(to);
  add<ops::std_correction, &deviation>(to);
  add<ops::var_mean_correction, &variance_with_mean>(to);
  add<ops::std_mean_correction, &deviation_with_mean>(to);
}

}  // namespace outback::portable
