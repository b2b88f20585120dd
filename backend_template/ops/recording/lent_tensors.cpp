#include "backend_template/ops/recording/lent_tensors.h"

#include <c10/util/Exception.h>

#include <cstring>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/graphs/host_program.h"
#include "backend_template/core/memory/allocator/capture_pools.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/in_place/adopt.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/dimension_names.h"
#include "backend_template/ops/in_place/tensor_fields.h"
#include "backend_template/ops/recording/host_call.h"

namespace outback::ops {
namespace {

bool is_shaped_like(const c10::TensorImpl& a, const c10::TensorImpl& b) {
  return a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

c10::Storage new_storage(c10::Device device, const void* bytes, size_t size) {
  c10::DataPtr memory = core::allocate_on(device.index(), size);
  if (size != 0) std::memcpy(memory.get(), bytes, size);
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                               static_cast<int64_t>(size), std::move(memory),
                                               &core::device_allocator(), /*resizable=*/true);
}

size_t times_in(const at::Tensor& tensor, const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().is_same(tensor) ? 1 : 0;
  size_t times = 0;
  if (value.isTensorList()) {
    for (const at::Tensor& it : value.toTensorVector()) times += it.is_same(tensor) ? 1 : 0;
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& it : value.toOptionalTensorVector()) {
      times += it && it->is_same(tensor) ? 1 : 0;
    }
  }
  return times;
}

size_t times_among(const at::Tensor& tensor, const std::vector<c10::IValue>& values) {
  size_t times = 0;
  for (const c10::IValue& value : values) times += times_in(tensor, value);
  return times;
}

}  // namespace

at::Tensor lent_tensors::lend(const at::Tensor& tensor, bool written, bool may_be_pinned) {
  if (!tensor.defined()) return tensor;
  if (tensor.device().is_cpu()) return lend_cpu(tensor, written, may_be_pinned);
  if (tensor.device() != device_) refuse_operator(open_, op_, "its tensors are on several devices");
  writes_ = writes_ || written;
  for (tensor_loan& loan : tensors_) {
    if (!loan.source.is_same(tensor)) continue;
    loan.written = loan.written || written;
    // It may have been lent for reading only: then its old bytes are kept now.
    if (written) lend_storage(tensor.storage(), written);
    return loan.alias;
  }
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!is_plain(impl) || !tensor.has_storage()) {
    refuse_operator(open_, op_, "a replay runs on strided tensors alone");
  }
  at::Tensor alias = make_alias_tensor(tensor, lend_storage(tensor.storage(), written).alias);
  tensors_.push_back({tensor, alias, written});
  return alias;
}

// A scalar is copied, so that replays do not see what becomes of it later. A pinned tensor stays as
// it is: replays read and write it, as with CUDA.
at::Tensor lent_tensors::lend_cpu(const at::Tensor& tensor, bool written, bool may_be_pinned) {
  if (!written && tensor.dim() == 0) {
    return tensor.unsafeGetTensorImpl()->is_wrapped_number() ? tensor : tensor.detach().clone();
  }
  if (!may_be_pinned || !tensor.has_storage() || !core::is_pinned(tensor.const_data_ptr())) {
    refuse_operator(open_, op_,
                    "it takes a CPU tensor that is pageable, or has the host wait for it. Copies "
                    "from and to pinned memory with non_blocking=True can be captured");
  }
  writes_ = writes_ || written;
  pinned_.push_back(tensor);
  if (written) open_.rollback().keep(tensor.storage());
  open_.program()->keep_input(tensor.storage(), tensor.storage().data());
  return tensor;
}

lent_tensors::storage_loan& lent_tensors::lend_storage(const c10::Storage& storage, bool written) {
  // mutable_data() gives a copy-on-write storage memory of its own, so reads do not call it.
  void* const data = written ? storage.mutable_data() : const_cast<void*>(storage.data());
  note_use(storage, data);
  // Memory that this capture allocated from a pool of its own holds no older bytes to put back.
  const bool is_own = open_.pool_is_fresh() && core::is_of_pool(storage.data_ptr(), open_.pool());
  if (written && !is_own) open_.rollback().keep(storage);
  for (storage_loan& loan : storages_) {
    if (loan.source.unsafeGetStorageImpl() != storage.unsafeGetStorageImpl()) continue;
    if (loan.data != data) {
      loan.alias.set_data_ptr_noswap(c10::DataPtr(data, c10::Device(c10::kCPU)));
      loan.data = data;
    }
    return loan;
  }
  storages_.push_back(
      {storage, make_borrowed_storage(*storage.unsafeGetStorageImpl(), data), data});
  return storages_.back();
}

// The graph keeps the memory of its pool. All other memory must live, and stay where it is, until
// the last replay: the program sees to both.
void lent_tensors::note_use(const c10::Storage& storage, const void* data) {
  if (core::is_of_pool(storage.data_ptr(), open_.pool())) {
    open_.program()->forget_input(storage.unsafeGetStorageImpl());
  } else if (data != nullptr) {
    open_.program()->keep_input(storage, data);
  }
}

const lent_tensors::storage_loan* lent_tensors::loan_of(const c10::StorageImpl* alias) const {
  for (const storage_loan& loan : storages_) {
    if (loan.alias.unsafeGetStorageImpl() == alias) return &loan;
  }
  return nullptr;
}

void lent_tensors::own_what_was_kept(const std::vector<c10::IValue>& arguments) {
  for (const storage_loan& loan : storages_) {
    size_t known = 1;  // the loan's own reference
    bool is_kept = false;
    for (const tensor_loan& it : tensors_) {
      if (!it.alias.storage().is_alias_of(loan.alias)) continue;
      ++known;
      is_kept = is_kept || it.alias.use_count() > 1 + times_among(it.alias, arguments);
    }
    if (!is_kept && loan.alias.use_count() <= known) continue;
    c10::StorageImpl& alias = *loan.alias.unsafeGetStorageImpl();
    c10::DataPtr owned = core::share_memory(loan.source.data_ptr(), c10::Device(c10::kCPU));
    if (owned.get() != nullptr) alias.set_data_ptr_noswap(std::move(owned));
  }
}

// The kernel made the alias grow, into memory of the CPU. Moves it to memory of the pool, which
// replays will find there.
void lent_tensors::replace_memory(storage_loan& loan) {
  c10::StorageImpl& alias = *loan.alias.unsafeGetStorageImpl();
  c10::StorageImpl& source = *loan.source.unsafeGetStorageImpl();
  c10::Storage grown = new_storage(device_, alias.data(), alias.nbytes());
  void* const data = grown.mutable_data();
  source.set_data_ptr_noswap(std::move(grown.unsafeGetStorageImpl()->mutable_data_ptr()));
  source.set_nbytes(alias.nbytes());
  alias.set_data_ptr_noswap(c10::DataPtr(data, c10::Device(c10::kCPU)));
  loan.data = data;
  note_use(loan.source, data);
}

void lent_tensors::carry_over_bits(const tensor_loan& loan) {
  const at::Tensor& source = loan.source;
  const at::Tensor& alias = loan.alias;
  if (source.is_conj() == alias.is_conj() && source.is_neg() == alias.is_neg()) return;
  bits_.push_back({alias, source.is_conj(), source.is_neg()});
  source._set_conj(alias.is_conj());
  source._set_neg(alias.is_neg());
}

void lent_tensors::carry_over() {
  for (storage_loan& loan : storages_) {
    if (loan.alias.data() != loan.data || loan.alias.nbytes() != loan.source.nbytes()) {
      replace_memory(loan);
    }
  }
  for (const tensor_loan& loan : tensors_) {
    if (!loan.written) continue;
    c10::TensorImpl& source = *loan.source.unsafeGetTensorImpl();
    const c10::TensorImpl& alias = *loan.alias.unsafeGetTensorImpl();
    if (loan_of(alias.unsafe_storage().unsafeGetStorageImpl()) == nullptr) {
      refuse_operator(open_, op_, "it gives a tensor another storage");
    }
    if (!is_shaped_like(source, alias)) {
      source.set_sizes_and_strides(alias.sizes(), alias.strides(), alias.storage_offset());
    }
    take_names(alias, source);
    carry_over_bits(loan);
  }
}

at::Tensor lent_tensors::take_back(at::Tensor result) {
  const size_t place = taken_back_++;
  if (!result.defined()) return result;
  c10::TensorImpl* impl = result.unsafeGetTensorImpl();
  for (const tensor_loan& loan : tensors_) {
    if (loan.alias.unsafeGetTensorImpl() == impl) return loan.source;
  }
  for (const at::Tensor& pinned : pinned_) {
    if (pinned.is_same(result)) return result;
  }
  if (!result.device().is_cpu() || !is_plain(*impl) || !result.has_storage()) {
    refuse_operator(open_, op_, "its result is not a strided tensor");
  }
  c10::StorageImpl* const storage = impl->unsafe_storage().unsafeGetStorageImpl();
  if (const storage_loan* const lent = loan_of(storage)) {
    for (const tensor_loan& loan : tensors_) {
      const c10::TensorImpl& source = *loan.source.unsafeGetTensorImpl();
      if (source.unsafe_storage().unsafeGetStorageImpl() == lent->source.unsafeGetStorageImpl()) {
        return as_view_of(*impl, source);
      }
    }
  }
  // A new result. Several results may share one storage of the kernel's, and share one here too.
  at::Tensor taken(impl->shallow_copy_and_detach(c10::VariableVersion(0),
                                                 /*allow_tensor_metadata_change=*/true));
  c10::Storage memory;
  for (const auto& [known, theirs] : results_) {
    if (known == storage) memory = theirs;
  }
  if (!memory) {
    memory = new_storage(device_, storage->data(), storage->nbytes());
    results_.emplace_back(storage, memory);
    copied_.push_back({place, memory.mutable_data(), storage->nbytes()});
  }
  taken.unsafeGetTensorImpl()->set_storage_keep_dtype(memory);
  relabel(*taken.unsafeGetTensorImpl(), device_);
  return taken;
}

}  // namespace outback::ops
