// Products of matrices and vectors: mm, bmm, mv, dot, addr, and those with a sum.
#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>

#include "backend_template/portable/engine/elementwise.h"
#include "backend_template/portable/engine/matmul.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

template <class Meta>
struct plain : Meta {
  void impl(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
    run_matmul(a, b, out);
  }
};

template <class Meta>
struct with_sum : Meta {
  void impl(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
            const at::Scalar& beta, const at::Scalar& alpha, const at::Tensor& out) {
    run_matmul(a, b, out, {*at::expand_size(self, out.sizes()), beta, alpha});
  }
};

struct with_activation : at::meta::structured__addmm_activation {
  void impl(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
            const at::Scalar& beta, const at::Scalar& alpha, bool use_gelu, const at::Tensor& out) {
    run_matmul(a, b, out, {*at::expand_size(self, out.sizes()), beta, alpha});
    at::Tensor result = out;
    use_gelu ? at::gelu_(result) : at::relu_(result);
  }
};

at::Tensor dot(const at::Tensor& self, const at::Tensor& other) {
  // What the next provider refuses.
  if (self.dim() != 1 || other.sizes() != self.sizes()) throw no_kernel();
  at::Tensor out = at::empty({}, self.options());
  run_matmul(self, other, out);
  return out;
}

constinit body addr_body("addr", 3);

// The outer product, which is elementwise. What PyTorch refuses is the next provider's.
at::TensorIterator add_outer(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                             const at::Scalar& beta, const at::Scalar& alpha,
                             const at::Tensor& out) {
  if (a.dim() != 1 || b.dim() != 1 || beta.isBoolean() || alpha.isBoolean()) throw no_kernel();
  const c10::DimVector sizes{a.size(0), b.size(0)};
  if (!at::is_expandable_to(self.sizes(), sizes) ||
      (out.is_same(self) && self.sizes() != c10::IntArrayRef(sizes))) {
    throw no_kernel();
  }
  auto elements = at::TensorIteratorConfig()
                      .add_output(out)
                      .add_owned_const_input(self.expand(sizes))
                      .add_owned_const_input(a.unsqueeze(1))
                      .add_const_input(b)
                      .promote_inputs_to_common_dtype(true)
                      .cast_common_dtype_to_outputs(true)
                      .enforce_safe_casting_to_output(true)
                      .build();
  const c10::ScalarType dtype = elements.common_dtype();
  const bool has_fraction = beta.isFloatingPoint() || alpha.isFloatingPoint();
  if (dtype == c10::kBool || (has_fraction && !c10::isFloatingType(dtype))) throw no_kernel();
  run_elementwise(elements, addr_body, numbers(beta, alpha));
  return elements;
}

at::Tensor addr(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                const at::Scalar& beta, const at::Scalar& alpha) {
  return add_outer(self, a, b, beta, alpha, at::Tensor()).output();
}

at::Tensor& addr_out(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                     const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  add_outer(self, a, b, beta, alpha, out);
  return out;
}

at::Tensor& addr_(at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                  const at::Scalar& beta, const at::Scalar& alpha) {
  return addr_out(self, a, b, beta, alpha, self);
}

// What torch composes of the operators above: for integers the CPU's kernel is less work.
template <auto* composed>
struct of_floats;
template <class Result, class First, class... Others, Result (*composed)(First, Others...)>
struct of_floats<composed> {
  static Result run(First first, Others... others) {
    if (!first.is_floating_point()) throw no_kernel();
    return composed(first, others...);
  }
};

}  // namespace

void add_matmul(ops::registrar& to) {
  using namespace at::meta;
  namespace ops = at::_ops;
  add_structured<plain<structured_mm>, ops::mm, ops::mm_out>(to);
  add_structured<plain<structured_bmm>, ops::bmm, ops::bmm_out>(to);
  add_structured<with_sum<structured_addmm>, ops::addmm, ops::addmm_, ops::addmm_out>(to);
  add_structured<with_sum<structured_baddbmm>, ops::baddbmm, ops::baddbmm_, ops::baddbmm_out>(to);
  add_structured<with_sum<structured_addmv>, ops::addmv, ops::addmv_, ops::addmv_out>(to);
  add_structured<with_activation, ops::_addmm_activation, ops::_addmm_activation_out>(to);
  add<ops::dot, &dot>(to);
  add<ops::addr, &addr>(to);
  add<ops::addr_, &addr_>(to);
  add<ops::addr_out, &addr_out>(to);
  add<ops::vdot, &of_floats<&at::native::vdot>::run>(to);
  add<ops::addbmm, &of_floats<&at::native::addbmm>::run>(to);
  add<ops::addbmm_, &of_floats<&at::native::addbmm_>::run>(to);
  add<ops::addbmm_out, &of_floats<&at::native::addbmm_out>::run>(to);
}

}  // namespace outback::portable
