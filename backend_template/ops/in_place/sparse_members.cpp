#include "backend_template/ops/in_place/sparse_members.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

namespace outback::ops {
namespace {

// torch has two classes of sparse tensors: COO, and one for all compressed layouts (CSR, CSC, ...).
bool is_coo(const c10::TensorImpl& tensor) {
  return tensor.key_set().has_any(c10::DispatchKeySet(c10::DispatchKey::Sparse));
}

}  // namespace

void for_each_member(c10::TensorImpl& tensor, c10::function_ref<void(at::Tensor&)> visit) {
  if (is_coo(tensor)) {
    auto& coo = static_cast<at::SparseTensorImpl&>(tensor);
    visit(coo.indices_);
    visit(coo.values_);
  } else {
    auto& csr = static_cast<at::SparseCsrTensorImpl&>(tensor);
    visit(csr.crow_indices_);
    visit(csr.col_indices_);
    visit(csr.values_);
  }
}

void copy_members(const c10::TensorImpl& from, c10::TensorImpl& to) {
  if (is_coo(from)) {
    const auto& source = static_cast<const at::SparseTensorImpl&>(from);
    auto& coo = static_cast<at::SparseTensorImpl&>(to);
    coo.raw_resize_(source.sparse_dim(), source.dense_dim(), source.sizes());
    coo.indices_ = source.indices_;
    coo.values_ = source.values_;
    coo.set_coalesced(source.coalesced());
  } else {
    const auto& source = static_cast<const at::SparseCsrTensorImpl&>(from);
    static_cast<at::SparseCsrTensorImpl&>(to).set_member_tensors(
        source.crow_indices_, source.col_indices_, source.values_, source.sizes());
  }
}

}  // namespace outback::ops
