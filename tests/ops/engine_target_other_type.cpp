// A device type as CUDA is one, for torch builds that have none: c10's HPU, which no build of torch
// from its own sources has kernels for. It has keys, a guard, two devices and an allocator of its
// own. Its kernels are the CPU's, under its keys: they take nothing but its tensors.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/boxed_kernel.h"
#include "backend_template/ops/in_place/sparse_members.h"
#include "backend_template/ops/in_place/stack_tensors.h"
#include "backend_template/ops/in_place/tensor_fields.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "tests/ops/engine_target.h"

namespace outback::test {
namespace {

constexpr c10::DeviceType hpu = c10::DeviceType::HPU;
constexpr c10::BackendComponent backend = c10::BackendComponent::HPUBit;

std::atomic<int> kernels_run{0};
thread_local c10::DeviceIndex current = 0;

class guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return hpu; }
  c10::Device exchangeDevice(c10::Device device) const override {
    return {hpu, std::exchange(current, device.index())};
  }
  c10::Device getDevice() const override { return {hpu, current}; }
  void setDevice(c10::Device device) const override { current = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current = device.index(); }
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 2; }
};

// Its memory is on the thread's current device, as CUDA's is.
class allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    const c10::Device device(hpu, current);
    if (size == 0) return {nullptr, device};
    void* const memory = std::malloc(size);
    TORCH_CHECK(memory != nullptr, "out of memory");
    const std::lock_guard<std::mutex> lock(mutex_);
    in_use_.insert(memory);
    return {memory, memory, &give_back, device};
  }
  void copy_data(void* to, const void* from, size_t size) const override {
    std::memcpy(to, from, size);
  }
  bool owns(const void* memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return in_use_.count(memory) != 0;
  }

 private:
  static void give_back(void* memory);

  std::mutex mutex_;
  std::unordered_set<const void*> in_use_;
};

allocator& the_allocator() {
  static auto& made = *new allocator;
  return made;
}

void allocator::give_back(void* memory) {
  allocator& mine = the_allocator();
  {
    const std::lock_guard<std::mutex> lock(mine.mutex_);
    mine.in_use_.erase(memory);
  }
  std::free(memory);
}

// The tensors of one call, relabelled in place: the CPU's until the kernel has returned.
class relabelled {
 public:
  explicit relabelled(c10::Device device) : device_(device) {}

  void to_cpu(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.device().is_cpu()) return;
    TORCH_CHECK(tensor.device() == device_, "a kernel of ", device_, " was given a tensor of ",
                tensor.device());
    c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    if (ops::has_members(impl)) {
      ops::for_each_member(impl, [this](at::Tensor& member) { to_cpu(member); });
    } else if (const c10::Storage& storage = impl.unsafe_storage()) {
      to_cpu(*storage.unsafeGetStorageImpl());
    }
    move(impl, backend, c10::BackendComponent::CPUBit, c10::Device(c10::kCPU));
    given_.push_back(tensor);
  }
  c10::Storage to_cpu(const c10::Storage& storage) {
    to_cpu(*storage.unsafeGetStorageImpl());
    return storage;
  }

  // A result: what the kernel made is in memory of this type's allocator from then on.
  void take(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.device().is_cpu()) return;
    c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    if (ops::has_members(impl)) {
      ops::for_each_member(impl, [this](at::Tensor& member) { take(member); });
    } else if (const c10::Storage& storage = impl.unsafe_storage()) {
      take(*storage.unsafeGetStorageImpl());
    }
    move(impl, c10::BackendComponent::CPUBit, backend, device_);
  }

  ~relabelled() {
    for (const at::Tensor& tensor : given_) take(tensor);
    for (const c10::Storage& storage : storages_) take(*storage.unsafeGetStorageImpl());
  }

 private:
  static void move(c10::TensorImpl& impl, c10::BackendComponent from, c10::BackendComponent to,
                   c10::Device device) {
    ops::tensor_fields::set_device(impl, device);
    ops::tensor_fields::set_keys(impl, ops::move_keys(impl.key_set(), from, to));
  }

  void to_cpu(c10::StorageImpl& storage) {
    if (storage.device() != device_) return;
    storage.mutable_data_ptr().unsafe_set_device(c10::Device(c10::kCPU));
    storages_.push_back(c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(&storage)));
  }

  void take(c10::StorageImpl& storage) {
    if (!storage.device().is_cpu()) return;
    for (const c10::Storage& mine : storages_) {
      if (mine.unsafeGetStorageImpl() != &storage) continue;
      storage.mutable_data_ptr().unsafe_set_device(device_);
      return;
    }
    c10::DataPtr memory =
        the_allocator().allocate(storage.data() == nullptr ? 0 : storage.nbytes());
    if (memory) std::memcpy(memory.get(), storage.data(), storage.nbytes());
    storage.set_data_ptr_noswap(std::move(memory));
    storage.set_allocator(&the_allocator());
  }

  const c10::Device device_;
  std::vector<at::Tensor> given_;
  std::vector<c10::Storage> storages_;
};

// The device of the first argument that is on one of this type.
std::optional<c10::Device> device_of(const torch::jit::Stack& stack, size_t first) {
  std::optional<c10::Device> found;
  for (size_t i = first; !found && i < stack.size(); ++i) {
    ops::for_each_tensor(stack[i], [&found](const at::Tensor& tensor) {
      if (!found && tensor.defined() && tensor.device().type() == hpu) found = tensor.device();
    });
    if (stack[i].isDevice() && stack[i].toDevice().type() == hpu) found = stack[i].toDevice();
    if (stack[i].isStorage() && stack[i].toStorage().device_type() == hpu) {
      found = stack[i].toStorage().device();
    }
  }
  return found;
}

// What torch's generated code does for CUDA, and then the CPU's kernel.
class kernel final : public c10::OperatorKernel {
 public:
  explicit kernel(c10::DispatchKey layout) : layout_(layout) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const size_t first = stack->size() - op.schema().arguments().size();
    const c10::Device device = device_of(*stack, first).value_or(c10::Device(hpu, current));
    const c10::DeviceGuard on(device);
    ++kernels_run;
    relabelled tensors(device);
    for (size_t i = first; i < stack->size(); ++i) {
      c10::IValue& value = (*stack)[i];
      ops::for_each_tensor(value, [&](const at::Tensor& tensor) { tensors.to_cpu(tensor); });
      if (value.isDevice()) value = c10::Device(c10::kCPU);
      if (value.isStorage()) value = tensors.to_cpu(value.toStorage());
    }
    op.redispatchBoxed(c10::DispatchKeySet(c10::toRuntimePerBackendFunctionalityKey(
                           layout_, c10::BackendComponent::CPUBit)),
                       stack);
    // What torch keeps on the CPU for every device.
    if (op.schema().name().rfind("aten::_nested_tensor_", 0) == 0) return;
    for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
      ops::for_each_tensor((*stack)[i], [&](const at::Tensor& tensor) { tensors.take(tensor); });
    }
  }

 private:
  const c10::DispatchKey layout_;
};

void register_kernels() {
  static auto& handles = *new std::vector<c10::RegistrationHandleRAII>;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op || name.getNamespace() != "aten") continue;
    for (const auto layout :
         {c10::DispatchKey::Dense, c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr,
          c10::DispatchKey::Quantized, c10::DispatchKey::NestedTensor}) {
      const auto key = [layout](c10::BackendComponent of) {
        return c10::toRuntimePerBackendFunctionalityKey(layout, of);
      };
      if (!op->hasKernelForDispatchKey(key(c10::BackendComponent::CPUBit))) continue;
      handles.push_back(dispatcher.registerImpl(
          name, key(backend),
          c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<kernel>(layout)), std::nullopt,
          nullptr, "another device type"));
    }
  }
}

constexpr ops::kernel_target target{
    .type = hpu,
    .backend = backend,
    .autocast = c10::DispatchKey::AutocastHPU,
    .allocator = []() -> c10::Allocator* { return &the_allocator(); },
    .reaches = [](c10::DeviceIndex) { return true; },
    .wait = &core::drain,
    .adopt =
        [](c10::DataPtr&& memory, size_t size, c10::Device device) {
          TORCH_CHECK(memory.get() == nullptr || is_target_memory(memory.get()),
                      "a result is in memory of another allocator");
          return core::adopt(std::move(memory), size, device.index());
        },
    .generator = ops::cpu_target.generator,
};

}  // namespace

const ops::kernel_target& engine_target() {
  return target;
}

// Outback's own operators first, as register.cpp does: those need no target.
void register_engine_target() {
  static const guard the_guard;
  static const c10::impl::DeviceGuardImplRegistrar registered(hpu, &the_guard);
  c10::SetAllocator(hpu, &the_allocator());
  register_kernels();
  static const ops::operator_names none;
  static auto& to = *new ops::registrar(none);
  ops::register_factories(to);
  ops::register_fields(to);
  ops::register_resize(to);
  ops::register_copies(to);
  ops::register_lazy_clone(to);
  ops::register_fills(to);
  ops::register_scalars(to);
  ops::register_kernels_of(target, to);
  to.add_fallback(c10::DispatchKey::PrivateUse1, ops::boxed_fallback(none, target));
}

bool is_target_memory(const void* memory) {
  return the_allocator().owns(memory);
}

int target_kernels_run() {
  return kernels_run;
}

}  // namespace outback::test
