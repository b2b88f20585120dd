#include "backend_template/portable/engine/takes.h"

#include <bit>

#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/tensors/dimension_names.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/device.h"

namespace outback::portable {

void taken::look(const at::Tensor& tensor, size_t index, bool is_read) {
  if (!tensor.defined()) return;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const bool is_fit = ops::is_plain(impl) && !tensor.is_neg() && !tensor.is_conj() &&
                      !ops::has_names(tensor) && impl.dim() <= 8 &&
                      is_storable(c10::typeMetaToScalarType(impl.dtype()));
  if (ops::is_ours(tensor)) {
    const c10::DeviceIndex its = tensor.device().index();
    if (device < 0) device = its;
    all &= is_fit && its == device && serves(its);
    reads_device |= is_read;
  } else {
    all &= is_fit && impl.is_cpu() && impl.dim() == 0;
    if (index < 64) cpu_scalars |= uint64_t{1} << index;
  }
}

bool refuses_cpu_scalars(ops::named_operator& op, const taken& seen) {
  if (seen.cpu_scalars == 0) return false;
  if (!seen.reads_device && std::popcount(seen.cpu_scalars) > 1) return true;
  for (size_t i = 0; i < 64; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    if ((seen.cpu_scalars & bit) != 0 && op.known().mixing_at(bit) == ops::mixing::no_scalars) {
      return true;
    }
  }
  return false;
}

}  // namespace outback::portable
