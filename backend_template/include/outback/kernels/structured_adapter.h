// The class that gives one of PyTorch's structured kernels a place for its outputs. structured.h
// and Outback's own operators use it.
#pragma once

#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>
#include <c10/macros/Macros.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace at {
struct TensorIteratorBase;
}  // namespace at

namespace outback::kernels::detail {

/// `Kernel` with a place for its outputs: overrides the functions of at::impl::MetaBase that `meta`
/// calls to set an output. `Outputs` has `set(index, size, stride, options, exact_strides)`, and
/// `at(index)`, which returns the tensor that the kernel writes. `More` is the type of the
/// dimension names that torch up to 2.12 passes too.
template <class Kernel, class Outputs,
          class Method = decltype(&at::impl::MetaBase::set_output_raw_strided)>
class with_outputs;

template <class Kernel, class Outputs, class... More>
class with_outputs<Kernel, Outputs,
                   void (at::impl::MetaBase::*)(int64_t, at::IntArrayRef, at::IntArrayRef,
                                                at::TensorOptions, More...)>
    final : public Kernel {
 public:
  template <class... Arguments>
  explicit with_outputs(Arguments&&... arguments)
      : outputs(std::forward<Arguments>(arguments)...) {}
  with_outputs(const with_outputs&) = delete;
  with_outputs& operator=(const with_outputs&) = delete;
  // Not inlined: the destructor of a TensorIterator is long, and three places call it in each
  // kernel.
  C10_NOINLINE ~with_outputs() override {}  // NOLINT(modernize-use-equals-default)

  /// `meta` calls this for kernels that need exactly these strides.
  void set_output_strided(int64_t index, at::IntArrayRef size, at::IntArrayRef stride,
                          at::TensorOptions options, More... more) override {
    set(index, size, stride, options, true, more...);
  }

  /// `meta` calls this for kernels that can write any strides.
  void set_output_raw_strided(int64_t index, at::IntArrayRef size, at::IntArrayRef stride,
                              at::TensorOptions options, More... more) override {
    set(index, size, stride, options, false, more...);
  }

  /// `meta` and TensorIterator call this to look at an output.
  const at::Tensor& maybe_get_output(int64_t index) override {
    return outputs.at(static_cast<size_t>(index));
  }

  Outputs outputs;

 private:
  void set(int64_t index, at::IntArrayRef size, at::IntArrayRef stride, at::TensorOptions options,
           bool exact_strides, More... more) {
    outputs.set(static_cast<size_t>(index), size, stride, options, exact_strides);
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Kernel>) {
      // The iterator keeps its own list of outputs.
      Kernel::set_output_raw_strided(index, size, stride, options, more...);
    }
  }
};

}  // namespace outback::kernels::detail
