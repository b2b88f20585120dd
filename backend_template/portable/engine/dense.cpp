#include "backend_template/portable/engine/dense.h"

#include <ATen/ops/empty.h>

namespace outback::portable {

dense_output::dense_output(const at::Tensor& output, c10::ScalarType dtype)
    : output_(output), written_(output) {
  if (output.is_contiguous() && output.scalar_type() == dtype) return;
  written_ = at::empty(output.sizes(), output.options().dtype(dtype));
}

void dense_output::finish() const {
  if (!written_.is_same(output_)) output_.copy_(written_);
}

}  // namespace outback::portable
