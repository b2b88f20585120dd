#include "tests/ops/hpu_kernels.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backend_template/ops/in_place/sparse_members.h"
#include "backend_template/ops/in_place/stack_tensors.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "tests/twin/hpu.h"

namespace outback::test {
namespace {

std::atomic<int> kernels_run{0};

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
    move(impl, c10::BackendComponent::HPUBit, c10::BackendComponent::CPUBit,
         c10::Device(c10::kCPU));
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
    move(impl, c10::BackendComponent::CPUBit, c10::BackendComponent::HPUBit, device_);
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
        hpu_allocator().allocate(storage.data() == nullptr ? 0 : storage.nbytes());
    if (memory) std::memcpy(memory.get(), storage.data(), storage.nbytes());
    storage.set_data_ptr_noswap(std::move(memory));
    storage.set_allocator(&hpu_allocator());
  }

  const c10::Device device_;
  std::vector<at::Tensor> given_;
  std::vector<c10::Storage> storages_;
};

// The device of the first argument that is on one of this type, or the current one.
c10::Device device_of(const torch::jit::Stack& stack, size_t first) {
  std::optional<c10::Device> found;
  const auto note = [&found](c10::Device device) {
    if (!found && device.type() == hpu) found = device;
  };
  for (size_t i = first; i < stack.size(); ++i) {
    ops::for_each_tensor(stack[i], [&note](const at::Tensor& tensor) {
      if (tensor.defined()) note(tensor.device());
    });
    if (stack[i].isDevice()) note(stack[i].toDevice());
    if (stack[i].isStorage()) note(stack[i].toStorage().device());
  }
  return found.value_or(hpu_guard().getDevice());
}

// A CPU generator that stands at the position of HPU's, which moves on.
at::Generator cpu_generator(at::Generator of_hpu) {
  TORCH_CHECK(of_hpu.device().type() == hpu, "a kernel was given a generator of ", of_hpu.device());
  const std::lock_guard<std::mutex> lock(of_hpu.mutex());
  const uint64_t offset = of_hpu.get_offset();
  of_hpu.set_offset(offset + 4);
  return at::detail::createCPUGenerator(of_hpu.current_seed() * 1000003 + offset);
}

// What torch's generated code does for CUDA, and then the CPU's kernel once the stream is done.
class kernel final : public c10::OperatorKernel {
 public:
  explicit kernel(c10::DispatchKey layout) : layout_(layout) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const auto& arguments = op.schema().arguments();
    const size_t first = stack->size() - arguments.size();
    const c10::Device device = device_of(*stack, first);
    const c10::DeviceGuard on(device);
    hpu_guard().synchronizeStream(hpu_guard().getStream(device));
    ++kernels_run;
    relabelled tensors(device);
    for (size_t i = 0; i < arguments.size(); ++i) {
      c10::IValue& value = (*stack)[first + i];
      ops::for_each_tensor(value, [&](const at::Tensor& tensor) { tensors.to_cpu(tensor); });
      if (value.isDevice()) value = c10::Device(c10::kCPU);
      if (value.isStorage()) value = tensors.to_cpu(value.toStorage());
      if (arguments[i].name() == "generator") {
        value = cpu_generator(value.isNone() ? at::globalContext().defaultGenerator(device)
                                             : value.toGenerator());
      }
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

// HPU or the CPU is on the other side.
at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool /*non_blocking*/) {
  for (const at::Tensor& tensor : {self, source}) {
    if (tensor.device().type() != hpu) continue;
    hpu_guard().synchronizeStream(hpu_guard().getStream(tensor.device()));
  }
  ++kernels_run;
  relabelled from(source.device()), to(self.device());
  from.to_cpu(source);
  to.to_cpu(self);
  return self.copy_(source);
}

void add(const c10::OperatorHandle& op, c10::DispatchKey layout) {
  static auto& handles = *new std::vector<c10::RegistrationHandleRAII>;
  handles.push_back(c10::Dispatcher::singleton().registerImpl(
      op.operator_name(),
      c10::toRuntimePerBackendFunctionalityKey(layout, c10::BackendComponent::HPUBit),
      c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<kernel>(layout)), std::nullopt,
      nullptr, "HPU"));
}

}  // namespace

void register_hpu_kernels(const std::vector<std::string_view>& except) {
  using c10::DispatchKey;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    const bool is_left_out = std::find(except.begin(), except.end(), name.name) != except.end();
    if (!op || name.getNamespace() != "aten" || is_left_out) continue;
    for (const auto layout : {DispatchKey::Dense, DispatchKey::Sparse, DispatchKey::SparseCsr,
                              DispatchKey::Quantized, DispatchKey::NestedTensor}) {
      const auto cpu =
          c10::toRuntimePerBackendFunctionalityKey(layout, c10::BackendComponent::CPUBit);
      if (op->hasKernelForDispatchKey(cpu)) add(*op, layout);
    }
  }
  // torch calls them for types that it does not know, as it does for ours, and the CPU has kernels
  // for them from Outback.
  register_hpu_kernel("aten::convolution_overrideable", "");
  register_hpu_kernel("aten::convolution_backward_overrideable", "");
  static auto& library =
      *new torch::Library(torch::Library::IMPL, "aten", DispatchKey::HPU, __FILE__, __LINE__);
  library.impl("copy_", &copy_);
}

void register_hpu_kernel(const char* name, const char* overload) {
  add(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload), c10::DispatchKey::Dense);
}

int hpu_kernels_run() {
  return kernels_run;
}

}  // namespace outback::test
