#include "backend_template/distributed/lent_tensor.h"

#include <c10/core/InferenceMode.h>

#include <utility>

namespace outback::distributed {

elements elements_of(const collective& wanted) {
  if (wanted.reduction) return elements::reduced;
  return wanted.what.type == c10d::OpType::ALLTOALL_BASE ? elements::rows : elements::moved;
}

at::Tensor lent_tensor(const at::Tensor& like, c10::DataPtr memory, c10::DispatchKey key,
                       elements as, bool has_dtype) {
  const c10::InferenceMode plain(false);
  const auto bytes = static_cast<int64_t>(like.nbytes());
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                       std::move(memory), /*allocator=*/nullptr,
                                                       /*resizable=*/false);
  const bool is_split = as == elements::reduced && like.is_complex();
  const caffe2::TypeMeta dtype =
      is_split ? c10::scalarTypeToTypeMeta(c10::toRealValueType(like.scalar_type()))
      : as != elements::reduced && !has_dtype ? caffe2::TypeMeta::Make<uint8_t>()
                                              : like.dtype();
  auto made = c10::make_intrusive<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                   c10::DispatchKeySet(key), dtype);
  const int64_t count = bytes / static_cast<int64_t>(dtype.itemsize());
  if (as == elements::rows && like.dim() > 0) {
    const int64_t rows = like.size(0);
    made->set_sizes_contiguous({rows, rows == 0 ? 0 : count / rows});
  } else {
    made->set_sizes_contiguous({count});
  }
  return at::Tensor(std::move(made));
}

}  // namespace outback::distributed
