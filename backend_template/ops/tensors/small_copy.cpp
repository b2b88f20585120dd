#include "backend_template/ops/tensors/small_copy.h"

#include <ATen/TensorIterator.h>
#include <ATen/native/Copy.h>

namespace outback::ops {

void copy_by_loop(const at::Tensor& dst, const at::Tensor& src) {
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .add_output(dst)
                                    .add_const_input(src)
                                    .resize_outputs(false)
                                    .check_all_same_dtype(false)
                                    .check_all_same_device(false)
                                    .build();
  if (elements.numel() != 0) at::native::copy_stub(c10::kCPU, elements, /*non_blocking=*/false);
}

}  // namespace outback::ops
