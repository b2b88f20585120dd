// nll_loss and nll_loss2d, and their derivatives.
#include <ATen/core/Reduction.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "backend_template/core/streams/kernel_faults.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

constinit kernel_family row_kernels("nll_loss", "nll_loss");
constinit kernel_family part_kernels("nll_loss", "nll_loss_parts");
constinit kernel_family total_kernels("nll_loss", "nll_loss_total");
constinit kernel_family backward_kernels("nll_loss", "nll_loss_backward");

constinit core::kernel_fault target_fault("aten::nll_loss: a target is out of range");

// `nll_sizes` in nll_loss.k.
struct sizes {
  int64_t rows;
  int64_t classes;
  int64_t inner;
  int64_t ignored;
  int32_t fault = target_fault.number();
  int32_t reserved = 0;
};

// A call's arguments as the kernels take them.
struct arguments {
  at::Tensor in;
  at::Tensor target;
  at::Tensor weight;
  number_type type;
  sizes of;
  c10::Stream stream;

  // `self` and `target` fit each other.
  arguments(const at::Tensor& self, const at::Tensor& target, const at::Tensor& weight,
            int64_t ignored)
      : type(checked_type(self, target, weight)),
        of{target.numel(), self.size(self.dim() == 1 ? 0 : 1),
           self.dim() == 4 ? self.size(2) * self.size(3) : 1, ignored},
        stream(core::current_stream(self.device().index())) {
    in = dense(self);
    this->target = dense(target);
    this->weight = dense(weight);
  }

  static number_type checked_type(const at::Tensor& self, const at::Tensor& target,
                                  const at::Tensor& weight) {
    const bool fit = target.scalar_type() == c10::kLong &&
                     (!weight.defined() || weight.scalar_type() == self.scalar_type());
    if (!fit) throw no_kernel();
    return type_of_floats(self.scalar_type());
  }
};

void run_sum(const arguments& given, bool is_mean, const at::Tensor& out,
             const at::Tensor& total_weight) {
  const c10::DeviceIndex device = out.device().index();
  const kernels::packed_kernel& of_parts = part_kernels.of(device, given.type);
  const kernels::packed_kernel& of_total = total_kernels.of(device, given.type);
  // Few enough for the one group of the second launch.
  constexpr int64_t most_parts = 1024;
  const int64_t parts = std::min(groups_for(given.of.rows, of_parts), most_parts);
  const at::Tensor partial = at::empty({parts, 2}, out.options().dtype(computed_dtype(given.type)));
  const core::fault_watch watch(given.stream);
  launch(given.stream, of_parts, parts, given.of, pointer_to(partial), pointer_to(given.in),
         pointer_to(given.target), pointer_to(given.weight), device_pointer{watch.word()});
  launch(given.stream, of_total, 1, parts, int32_t{is_mean}, pointer_to(out),
         pointer_to(total_weight), pointer_to(partial));
}

void run_rows(const arguments& given, const at::Tensor& out, const at::Tensor& total_weight) {
  const kernels::packed_kernel& kernel = row_kernels.of(out.device().index(), given.type);
  total_weight.zero_();
  if (given.of.rows == 0) return;
  const dense_output made(out);
  const core::fault_watch watch(given.stream);
  launch(given.stream, kernel, groups_for(given.of.rows, kernel), given.of,
         pointer_to(made.written()), pointer_to(given.in), pointer_to(given.target),
         pointer_to(given.weight), device_pointer{watch.word()});
  made.finish();
}

void run_backward(const at::Tensor& grad_output, const arguments& given, bool is_of_rows,
                  bool is_mean, const at::Tensor& total_weight, const at::Tensor& grad_input) {
  const c10::ScalarType dtype = given.in.scalar_type();
  if (grad_output.scalar_type() != dtype || total_weight.scalar_type() != dtype) throw no_kernel();
  const kernels::packed_kernel& kernel =
      backward_kernels.of(grad_input.device().index(), given.type);
  if (grad_input.numel() == 0) return;
  const at::Tensor grad = dense(grad_output);
  const dense_output made(grad_input);
  const core::fault_watch watch(given.stream);
  launch(given.stream, kernel, groups_for(grad_input.numel(), kernel), given.of,
         int32_t{is_of_rows}, int32_t{is_mean}, pointer_to(made.written()), pointer_to(grad),
         pointer_to(given.target), pointer_to(given.weight), pointer_to(total_weight),
         device_pointer{watch.word()});
  made.finish();
}

struct forward : at::meta::structured_nll_loss_forward {
  void impl(const at::Tensor& self, const at::Tensor& target, at::OptionalTensorRef weight,
            int64_t reduction, int64_t ignored, const at::Tensor& out,
            const at::Tensor& total_weight) {
    const arguments given(self, target, weight.getTensorRef(), ignored);
    if (reduction == at::Reduction::None && self.dim() == 2) {
      run_rows(given, out, total_weight);
    } else {
      run_sum(given, reduction == at::Reduction::Mean, out, total_weight);
    }
  }
};

struct backward : at::meta::structured_nll_loss_backward {
  void impl(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
            at::OptionalTensorRef weight, int64_t reduction, int64_t ignored,
            const at::Tensor& total_weight, const at::Tensor& grad_input) {
    const arguments given(self, target, weight.getTensorRef(), ignored);
    run_backward(grad_output, given, reduction == at::Reduction::None && self.dim() == 2,
                 reduction == at::Reduction::Mean, total_weight, grad_input);
  }
};

// Throws no_kernel for what the next provider refuses, in PyTorch's words.
void check_2d(const at::Tensor& self, const at::Tensor& target, const at::Tensor& weight) {
  const bool fit =
      self.dim() == 4 && target.dim() == 3 && self.size(0) == target.size(0) &&
      self.size(2) == target.size(1) && self.size(3) == target.size(2) &&
      target.device() == self.device() &&
      (!weight.defined() || (weight.numel() == self.size(1) && weight.device() == self.device()));
  if (!fit) throw no_kernel();
}

std::tuple<at::Tensor&, at::Tensor&> forward_2d_out(const at::Tensor& self,
                                                    const at::Tensor& target,
                                                    const std::optional<at::Tensor>& weight,
                                                    int64_t reduction, c10::SymInt ignored,
                                                    at::Tensor& out, at::Tensor& total_weight) {
  const at::Tensor of_classes = weight.value_or(at::Tensor());
  check_2d(self, target, of_classes);
  const bool fit = out.device() == self.device() && total_weight.device() == self.device() &&
                   out.scalar_type() == self.scalar_type() &&
                   total_weight.scalar_type() == self.scalar_type();
  if (!fit) throw no_kernel();
  const arguments given(self, target, of_classes, ignored.guard_int(__FILE__, __LINE__));
  total_weight.resize_({});
  if (reduction == at::Reduction::None) {
    at::native::resize_output(out, target.sizes());
    run_rows(given, out, total_weight);
  } else {
    at::native::resize_output(out, {});
    run_sum(given, reduction == at::Reduction::Mean, out, total_weight);
  }
  return {out, total_weight};
}

std::tuple<at::Tensor, at::Tensor> forward_2d(const at::Tensor& self, const at::Tensor& target,
                                              const std::optional<at::Tensor>& weight,
                                              int64_t reduction, c10::SymInt ignored) {
  at::Tensor out = at::empty({0}, self.options());
  at::Tensor total_weight = at::empty({0}, self.options());
  forward_2d_out(self, target, weight, reduction, std::move(ignored), out, total_weight);
  return {std::move(out), std::move(total_weight)};
}

at::Tensor& backward_2d_out(const at::Tensor& grad_output, const at::Tensor& self,
                            const at::Tensor& target, const std::optional<at::Tensor>& weight,
                            int64_t reduction, c10::SymInt ignored, const at::Tensor& total_weight,
                            at::Tensor& grad_input) {
  const at::Tensor of_classes = weight.value_or(at::Tensor());
  check_2d(self, target, of_classes);
  const bool is_of_rows = reduction == at::Reduction::None;
  const bool fit = total_weight.numel() == 1 && grad_input.scalar_type() == self.scalar_type() &&
                   grad_input.device() == self.device() && grad_output.device() == self.device() &&
                   total_weight.device() == self.device() &&
                   (is_of_rows ? grad_output.sizes() == target.sizes()
                               : grad_output.dim() <= 1 && grad_output.numel() == 1);
  if (!fit) throw no_kernel();
  const arguments given(self, target, of_classes, ignored.guard_int(__FILE__, __LINE__));
  grad_input.resize_as_(self);
  TORCH_CHECK(grad_input.is_contiguous(), "grad_input must be contiguous");
  run_backward(grad_output, given, is_of_rows, reduction == at::Reduction::Mean, total_weight,
               grad_input);
  return grad_input;
}

at::Tensor backward_2d(const at::Tensor& grad_output, const at::Tensor& self,
                       const at::Tensor& target, const std::optional<at::Tensor>& weight,
                       int64_t reduction, c10::SymInt ignored, const at::Tensor& total_weight) {
  at::Tensor grad_input = at::empty_like(self, at::MemoryFormat::Contiguous);
  return backward_2d_out(grad_output, self, target, weight, reduction, std::move(ignored),
                         total_weight, grad_input);
}

}  // namespace

void add_nll_loss(ops::registrar& to) {
  namespace ops = at::_ops;
  add_structured<forward, ops::nll_loss_forward, ops::nll_loss_forward_output>(to);
  add_structured<backward, ops::nll_loss_backward, ops::nll_loss_backward_grad_input>(to);
  add<ops::nll_loss2d_forward, &forward_2d>(to);
  add<ops::nll_loss2d_forward_output, &forward_2d_out>(to);
  add<ops::nll_loss2d_backward, &backward_2d>(to);
  add<ops::nll_loss2d_backward_grad_input, &backward_2d_out>(to);
}

}  // namespace outback::portable
