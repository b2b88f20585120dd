// Derivatives of custom operators, of the signatures that Python's tests do not have.
#include "outback/kernels/autograd.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <class Signature>
auto typed(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

// sum and difference of x and y, one of which may be absent
std::tuple<at::Tensor, at::Tensor> both(const std::optional<at::Tensor>& x,
                                        const std::optional<at::Tensor>& y) {
  return typed<decltype(both)>("outback_test::both").call(x, y);
}

std::tuple<at::Tensor, at::Tensor> both_kernel(const std::optional<at::Tensor>& x,
                                               const std::optional<at::Tensor>& y) {
  EXPECT_TRUE(c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality))
      << "a derivative runs its operator below autograd";
  if (!x) return {y->clone(), y->neg()};
  return {y ? *x + *y : x->clone(), y ? *x - *y : x->clone()};
}

struct both_formula {
  static void setup_context(AutogradContext* ctx, const std::optional<at::Tensor>& x,
                            const std::optional<at::Tensor>& y,
                            const std::tuple<at::Tensor, at::Tensor>& /*output*/) {
    ctx->saved_data["has_x"] = x.has_value();
    ctx->saved_data["has_y"] = y.has_value();
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const bool has_x = ctx->saved_data["has_x"].toBool();
    const bool has_y = ctx->saved_data["has_y"].toBool();
    return {has_x ? grads[0] + grads[1] : at::Tensor(), has_y ? grads[0] - grads[1] : at::Tensor()};
  }
};

// the product of all
at::Tensor product(at::TensorList tensors) {
  return typed<decltype(product)>("outback_test::product").call(tensors);
}

at::Tensor product_kernel(at::TensorList tensors) {
  at::Tensor result = tensors[0].clone();
  for (const at::Tensor& tensor : tensors.slice(1)) result.mul_(tensor);
  return result;
}

std::vector<bool> needed;  // of the last product's arguments

struct product_formula {
  static void setup_context(kernels::autograd_context* ctx, at::TensorList tensors,
                            const at::Tensor& output) {
    variable_list saved = tensors.vec();
    saved.push_back(output);
    ctx->save_for_backward(saved);
  }
  static variable_list backward(kernels::autograd_context* ctx, const variable_list& grads) {
    needed.clear();
    variable_list tensors = ctx->get_saved_variables();
    const at::Tensor output = tensors.back();
    tensors.pop_back();
    for (size_t i = 0; i < tensors.size(); ++i) {
      needed.push_back(ctx->needs_input_grad(i));
      tensors[i] = needed[i] ? grads[0] * output / tensors[i] : at::Tensor();
    }
    return tensors;
  }
};

// twice x, and the sign of x, which has no gradient
std::tuple<at::Tensor, at::Tensor> twice(const at::Tensor& x) {
  return typed<decltype(twice)>("outback_test::twice").call(x);
}

std::tuple<at::Tensor, at::Tensor> twice_kernel(const at::Tensor& x) {
  return {x * 2, x.sign()};
}

struct twice_formula {
  static void setup_context(kernels::autograd_context* ctx, const at::Tensor& /*x*/,
                            const std::tuple<at::Tensor, at::Tensor>& output) {
    ctx->mark_non_differentiable({std::get<1>(output)});
    ctx->set_materialize_grads(false);
  }
  static variable_list backward(kernels::autograd_context* /*ctx*/, const variable_list& grads) {
    EXPECT_FALSE(grads[1].defined());
    return {grads[0] * 2, at::Tensor(), at::Tensor()};  // PyTorch drops what is too much
  }
};

// twice x, whose formula is wrong as `mistake` says
enum class mistake : uint8_t { too_few, of_no_tensor };

at::Tensor mistaken(const at::Tensor& x, int64_t how) {
  return typed<decltype(mistaken)>("outback_test::mistaken").call(x, how);
}

at::Tensor mistaken_kernel(const at::Tensor& x, int64_t /*how*/) {
  return x * 2;
}

struct mistaken_formula {
  static void setup_context(AutogradContext* ctx, const at::Tensor& /*x*/, int64_t how,
                            const at::Tensor& /*output*/) {
    ctx->saved_data["how"] = how;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    if (mistake(ctx->saved_data["how"].toInt()) == mistake::too_few) return {grads[0] * 2};
    return {grads[0] * 2, grads[0]};
  }
};

TORCH_LIBRARY_FRAGMENT(outback_test, m) {
  m.def("twice(Tensor x) -> (Tensor, Tensor)");
  m.def("mistaken(Tensor x, int how) -> Tensor");
  m.def("both(Tensor? x, Tensor? y) -> (Tensor, Tensor)");
  m.def("product(Tensor[] tensors) -> Tensor");
}
TORCH_LIBRARY_IMPL(outback_test, PrivateUse1, m) {
  m.impl("both", &both_kernel);
  m.impl("mistaken", &mistaken_kernel);
  m.impl("twice", &twice_kernel);
  m.impl("product", &product_kernel);
}
TORCH_LIBRARY_IMPL(outback_test, AutogradPrivateUse1, m) {
  m.impl("twice", kernels::autograd<twice_formula, &twice>());
  m.impl("mistaken", kernels::autograd<mistaken_formula, &mistaken>());
  m.impl("both", kernels::autograd<both_formula, &both>());
  m.impl("product", kernels::autograd<product_formula, &product>());
}

std::vector<std::string>& seen_names() {
  static std::vector<std::string> names;
  return names;
}

class AutogradTest : public BackendTest {
 protected:
  static at::Tensor leaf(float value) {
    return at::full({2}, value, at::TensorOptions(device(0))).requires_grad_();
  }
  static void expect(const at::Tensor& tensor, float value) {
    ASSERT_TRUE(tensor.defined());
    EXPECT_TRUE(tensor.detach().cpu().equal(at::full({2}, value))) << tensor;
  }
};

TEST_F(AutogradTest, SeveralOutputsAndOptionalInputs) {
  const at::Tensor x = leaf(3);
  const at::Tensor y = leaf(2);
  const auto [sum, difference] = both(x, y);
  expect(sum, 5);
  expect(difference, 1);
  (sum * 10 + difference).sum().backward();
  expect(x.grad(), 11);
  expect(y.grad(), 9);
}

TEST_F(AutogradTest, AnInputThatIsAbsent) {
  const at::Tensor x = leaf(3);
  std::get<0>(both(x, std::nullopt)).sum().backward();
  expect(x.grad(), 1);
  const at::Tensor y = leaf(2);
  std::get<1>(both(std::nullopt, y)).sum().backward();
  expect(y.grad(), -1);
}

TEST_F(AutogradTest, ListsAndSavedOutputs) {
  const at::Tensor x = leaf(3);
  const at::Tensor y = leaf(2);
  const at::Tensor result = product({x, y, x});
  expect(result, 18);
  const auto grads = torch::autograd::grad({result.sum()}, {x, y}, {}, /*retain_graph=*/true,
                                           /*create_graph=*/true);
  expect(grads[0], 12);
  expect(grads[1], 9);
  grads[1].sum().backward();  // d(x * x)/dx
  expect(x.grad(), 6);
}

TEST_F(AutogradTest, OnlyTheGradientsThatAreAskedFor) {
  const at::Tensor x = leaf(3);
  product({x.detach(), x, x.detach()}).sum().backward();
  expect(x.grad(), 9);
  EXPECT_EQ(needed, (std::vector<bool>{false, true, false}));
}

TEST_F(AutogradTest, AResultWithoutAGradient) {
  const at::Tensor x = leaf(3);
  const auto [doubled, sign] = twice(x);
  EXPECT_TRUE(doubled.requires_grad());
  EXPECT_FALSE(sign.requires_grad());
  doubled.sum().backward();
  expect(x.grad(), 2);
}

TEST_F(AutogradTest, TheFormulaIsNamedWhereItIsWrong) {
  const auto backward = [](mistake how) { mistaken(leaf(1), int64_t(how)).sum().backward(); };
  EXPECT_THAT([&] { backward(mistake::too_few); },
              ThrowsMessage<c10::Error>(HasSubstr(
                  "mistaken_formula returned 1 gradients: expected 2, one for each argument")));
  EXPECT_THAT([&] { backward(mistake::of_no_tensor); },
              ThrowsMessage<c10::Error>(HasSubstr("mistaken_formula returned a gradient, number 1 "
                                                  "from 0, of what was no tensor")));
}

TEST_F(AutogradTest, AProfileNamesTheFormula) {
  const at::CallbackHandle handle = at::addThreadLocalCallback(at::RecordFunctionCallback(
      [](const at::RecordFunction& range) -> std::unique_ptr<at::ObserverContext> {
        seen_names().push_back(range.name());
        return nullptr;
      }));
  std::get<0>(both(leaf(3), std::nullopt)).sum().backward();
  at::removeCallback(handle);
  EXPECT_THAT(seen_names(), Contains(HasSubstr("both_formula")));
}

TEST_F(AutogradTest, NothingIsRecordedWhereNothingRequiresIt) {
  const c10::NoGradGuard no_grad;
  EXPECT_FALSE(product({leaf(1), leaf(2)}).requires_grad());
}

}  // namespace
}  // namespace outback::test
