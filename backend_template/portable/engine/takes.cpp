#include "backend_template/portable/engine/takes.h"

#include "backend_template/ops/tensors/dimension_names.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/device.h"

namespace outback::portable {

void taken::look(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const bool is_fit = ops::is_plain(impl) && !tensor.is_neg() && !tensor.is_conj() &&
                      !ops::has_names(tensor) && impl.dim() <= 8 &&
                      is_storable(c10::typeMetaToScalarType(impl.dtype()));
  if (ops::is_ours(tensor)) {
    const c10::DeviceIndex its = tensor.device().index();
    if (device < 0) device = its;
    all &= is_fit && its == device && serves(its);
  } else {
    all &= is_fit && impl.is_cpu() && impl.dim() == 0;
  }
}

}  // namespace outback::portable
