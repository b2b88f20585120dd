#include "backend_template/distributed/lent_tensor.h"

#include <c10/core/InferenceMode.h>

#include <utility>
#include <vector>

namespace outback::distributed {

form form_of(const collective& wanted) {
  const bool is_reduced = wanted.reduction.has_value();
  const bool is_whole = wanted.lies == layout::contiguous && wanted.pairs == pairing::none;
  return {is_reduced ? form::elements::reduced : form::elements::moved,
          wanted.what.type == c10d::OpType::ALLTOALL_BASE ? form::shape::rows
          : is_whole                                      ? form::shape::whole
                                                          : form::shape::flat};
}

at::Tensor lent_tensor(const at::Tensor& like, c10::DataPtr memory, c10::DispatchKey key, form as,
                       bool has_dtype) {
  const c10::InferenceMode plain(false);
  const auto bytes = static_cast<int64_t>(like.nbytes());
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                       std::move(memory), /*allocator=*/nullptr,
                                                       /*resizable=*/false);
  const bool is_reduced = as.are == form::elements::reduced;
  const caffe2::TypeMeta dtype =
      is_reduced && like.is_complex()
          ? c10::scalarTypeToTypeMeta(c10::toRealValueType(like.scalar_type()))
      : !is_reduced && !has_dtype ? caffe2::TypeMeta::Make<uint8_t>()
                                  : like.dtype();
  auto made = c10::make_intrusive<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                   c10::DispatchKeySet(key), dtype);
  const auto size = static_cast<int64_t>(dtype.itemsize());
  const int64_t count = bytes / size;
  if (as.shaped == form::shape::whole) {
    std::vector<int64_t> sizes = like.sizes().vec();
    const auto parts = static_cast<int64_t>(like.element_size()) / size;
    if (parts > 1) sizes.push_back(parts);
    made->set_sizes_contiguous(sizes);
  } else if (as.shaped == form::shape::rows && like.dim() > 0) {
    const int64_t rows = like.size(0);
    made->set_sizes_contiguous({rows, rows == 0 ? 0 : count / rows});
  } else {
    made->set_sizes_contiguous({count});
  }
  return at::Tensor(std::move(made));
}

}  // namespace outback::distributed
