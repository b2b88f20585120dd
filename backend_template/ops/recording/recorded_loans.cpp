#include "backend_template/ops/recording/recorded_loans.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/graphs/host_program.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/stack_tensors.h"
#include "backend_template/ops/recording/host_call.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {
namespace {

// Replays find the memory where it is: what the CPU allocated would be gone by then.
c10::DataPtr copy_to_pool(c10::DataPtr&& memory, size_t size, c10::Device device) {
  c10::DataPtr copy = core::allocate_on(device.index(), memory.get() == nullptr ? 0 : size);
  if (copy.get() != nullptr) std::memcpy(copy.get(), memory.get(), size);
  return copy;
}

// The CPU in a capture: the stream's earlier work has run already, as far as it is recorded here.
constexpr kernel_target recorded_target = [] {
  kernel_target target = cpu_target;
  target.wait = [](c10::DeviceIndex /*index*/) {};
  target.adopt = &copy_to_pool;
  return target;
}();

}  // namespace

recorded_loans::recorded_loans(const c10::OperatorHandle& op, core::capture& open,
                               c10::Device device)
    : op_(op), open_(open), device_(device), call_(std::in_place, recorded_target) {
  call_->lend(device);  // where results go that come of no tensor
}

at::Tensor recorded_loans::lend(at::Tensor tensor, bool written, mixing allowed,
                                bool may_be_pinned) {
  if (!tensor.defined()) return tensor;
  if (tensor.device().is_cpu()) return lend_cpu(std::move(tensor), written, allowed, may_be_pinned);
  if (tensor.device() != device_) refuse_operator(open_, op_, "its tensors are on several devices");
  if (!is_plain(*tensor.unsafeGetTensorImpl()) || !tensor.has_storage()) {
    refuse_operator(open_, op_, "a replay runs on strided tensors alone");
  }
  at::Tensor alias = call_->lend(tensor, written ? access::write : access::read);
  if (written) keep_old_bytes(tensor.storage());
  const bool is_known = std::any_of(loans_.begin(), loans_.end(),
                                    [&](const loan& it) { return it.alias.is_same(alias); });
  if (!is_known) {
    loans_.push_back({tensor, alias, tensor.storage(), tensor.is_conj(), tensor.is_neg()});
  }
  return alias;
}

// A scalar is copied, so that replays do not see what becomes of it later. A pinned tensor stays as
// it is: replays read and write it, as with CUDA.
at::Tensor recorded_loans::lend_cpu(at::Tensor tensor, bool written, mixing allowed,
                                    bool may_be_pinned) {
  if (!written && tensor.dim() == 0) {
    call_->lend(tensor, access::read, allowed);  // `begin` throws if it may not join
    const bool is_number = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    return on_cpu_.emplace_back(is_number ? tensor : tensor.detach().clone());
  }
  if (!may_be_pinned || !tensor.has_storage() || !core::is_pinned(tensor.const_data_ptr())) {
    refuse_operator(open_, op_,
                    "it takes a CPU tensor that is pageable, or has the host wait for it. Copies "
                    "from and to pinned memory with non_blocking=True can be captured");
  }
  if (written) keep_old_bytes(tensor.storage());
  open_.program()->keep_input(tensor.storage(), tensor.storage().data());
  return on_cpu_.emplace_back(std::move(tensor));
}

bool recorded_loans::has_pool_memory(const c10::Storage& storage) const {
  return core::is_of_pool(storage.data_ptr(), open_.pool());
}

// Memory that this capture allocated from a pool of its own holds no older bytes to put back.
void recorded_loans::keep_old_bytes(const c10::Storage& storage) {
  writes_ = true;
  if (!open_.pool_is_fresh() || !has_pool_memory(storage)) open_.rollback().keep(storage);
}

// The graph keeps the memory of its pool. All other memory must live, and stay where it is, until
// the last replay: the program sees to both.
void recorded_loans::finish() {
  call_->finish();
  for (const loan& it : loans_) {
    const c10::Storage& storage = it.source.storage();
    if (storage.unsafeGetStorageImpl() != it.storage.unsafeGetStorageImpl()) {
      refuse_operator(open_, op_, "it gives a tensor another storage");
    }
    if (has_pool_memory(storage)) {
      open_.program()->forget_input(storage.unsafeGetStorageImpl());
    } else if (storage.data() != nullptr) {
      open_.program()->keep_input(storage, storage.data());
    }
  }
}

at::Tensor recorded_loans::take_back(at::Tensor result) {
  const size_t place = taken_back_++;
  if (!result.defined()) return result;
  for (const at::Tensor& given : on_cpu_) {
    if (given.is_same(result)) return result;
  }
  const bool is_strided = is_plain(*result.unsafeGetTensorImpl()) && result.has_storage();
  if (!result.device().is_cpu() || !is_strided) {
    refuse_operator(open_, op_, "its result is not a strided tensor");
  }
  at::Tensor taken = call_->take_back(std::move(result));
  const auto is_here = [&taken](const c10::Storage& known) {
    return known.unsafeGetStorageImpl() == taken.storage().unsafeGetStorageImpl();
  };
  const bool is_lent = std::any_of(loans_.begin(), loans_.end(),
                                   [&](const loan& it) { return is_here(it.storage); });
  // Several results may share one storage.
  if (!is_lent && std::none_of(results_.begin(), results_.end(), is_here)) {
    const c10::Storage& memory = results_.emplace_back(taken.storage());
    copied_.push_back({place, memory.mutable_data(), memory.nbytes()});
  }
  return taken;
}

std::vector<recorded_loans::changed_bits> recorded_loans::bits() const {
  std::vector<changed_bits> changed;
  for (const loan& it : loans_) {
    if (it.alias.is_conj() == it.conj && it.alias.is_neg() == it.neg) continue;
    changed.push_back({it.alias, it.conj, it.neg});
  }
  return changed;
}

// Returns an owner for memory of the capture's pool that leaves it to the graph, and keeps the
// pool: what a kernel keeps of a replay may be written again, and never lies over memory that went
// back.
c10::DataPtr recorded_loans::in_pool(void* data, c10::Device device) const {
  using owner = std::shared_ptr<void>;
  return {data, new owner(open_.pool_owner()), [](void* held) { delete static_cast<owner*>(held); },
          device};
}

// The replays get new aliases, so that a kernel may keep those of the capture, which own their
// memory. Aliases of one storage share one again.
void recorded_loans::leave_memory_to_graph(torch::jit::Stack& arguments) {
  call_.reset();
  std::unordered_map<const c10::StorageImpl*, c10::Storage> storages;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> aliases;
  for (loan& it : loans_) {
    if (!has_pool_memory(it.source.storage())) continue;
    c10::StorageImpl& old = *it.alias.storage().unsafeGetStorageImpl();
    c10::Storage& storage = storages[&old];
    if (!storage) {
      storage = make_alias_storage(recorded_target, old, in_pool(old.mutable_data(), old.device()));
    }
    at::Tensor alias = make_alias_tensor(recorded_target, it.alias, storage);
    // The arguments hold the old one, so that its address stays its own.
    it.alias = aliases.emplace(it.alias.unsafeGetTensorImpl(), std::move(alias)).first->second;
  }
  for (c10::IValue& value : arguments) {
    replace_tensors(value, [&](at::Tensor&& tensor) {
      const auto found = aliases.find(tensor.unsafeGetTensorImpl());
      return found == aliases.end() ? std::move(tensor) : found->second;
    });
  }
}

}  // namespace outback::ops
