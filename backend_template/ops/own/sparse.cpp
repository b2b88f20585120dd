// The operators that read the fields of a sparse tensor: how many elements it holds, and which
// tensors it consists of. torch's own functions for them work for every device, but are registered
// for its own devices only. They read no element, so nothing is lent and nothing is waited for.
// Fake tensors, which have no memory to lend, are asked these questions too.
#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_dimI_native.h>
#include <ATen/ops/_dimV_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/ccol_indices_native.h>
#include <ATen/ops/col_indices_native.h>
#include <ATen/ops/crow_indices_native.h>
#include <ATen/ops/dense_dim_native.h>
#include <ATen/ops/indices_native.h>
#include <ATen/ops/is_coalesced_native.h>
#include <ATen/ops/row_indices_native.h>
#include <ATen/ops/sparse_dim_native.h>
#include <ATen/ops/values_native.h>

#include "backend_template/ops/own/own.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

template <auto* function>
void add_coo(registrar& to, const char* name) {
  to.add<function>(name, "", c10::DispatchKey::SparsePrivateUse1);
}

template <auto* function>
void add_compressed(registrar& to, const char* name) {
  to.add<function>(name, "", c10::DispatchKey::SparseCsrPrivateUse1);
}

}  // namespace

void register_sparse(registrar& to) {
  add_coo<&at::native::sparse_dim_sparse>(to, "sparse_dim");
  add_coo<&at::native::sparse_dim_sparse>(to, "_dimI");
  add_coo<&at::native::dense_dim_sparse>(to, "dense_dim");
  add_coo<&at::native::dense_dim_sparse>(to, "_dimV");
  add_coo<&at::native::_nnz_sparse>(to, "_nnz");
  add_coo<&at::native::is_coalesced_sparse>(to, "is_coalesced");
  add_coo<&at::native::_coalesced_sparse_>(to, "_coalesced_");
  add_coo<&at::native::_indices_sparse>(to, "_indices");
  add_coo<&at::native::_values_sparse>(to, "_values");
  add_coo<&at::native::indices_sparse>(to, "indices");
  add_coo<&at::native::values_sparse>(to, "values");

  add_compressed<&at::native::sparse_dim_sparse_csr>(to, "sparse_dim");
  add_compressed<&at::native::dense_dim_sparse_csr>(to, "dense_dim");
  add_compressed<&at::native::_nnz_sparse_csr>(to, "_nnz");
  add_compressed<&at::native::crow_indices_sparse_csr>(to, "crow_indices");
  add_compressed<&at::native::col_indices_sparse_csr>(to, "col_indices");
  add_compressed<&at::native::ccol_indices_sparse_csr>(to, "ccol_indices");
  add_compressed<&at::native::row_indices_sparse_csr>(to, "row_indices");
  add_compressed<&at::native::values_sparse_csr>(to, "values");
}

}  // namespace outback::ops
