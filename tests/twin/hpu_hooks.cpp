// HPU's start and its random numbers, and its registration with torch.
#include <ATen/EmptyTensor.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/HPUHooksInterface.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstring>
#include <memory>

#include "tests/twin/hpu.h"

namespace outback::test {
namespace {

// Its state is the seed and the offset, as CUDA's is.
class generator final : public c10::GeneratorImpl {
 public:
  using state = std::array<uint64_t, 2>;

  explicit generator(c10::DeviceIndex device)
      : c10::GeneratorImpl(c10::Device(hpu, device), c10::DispatchKeySet(c10::DispatchKey::HPU)) {}

  void set_current_seed(uint64_t seed) override { *state_ = {seed, 0}; }
  void set_offset(uint64_t offset) override { (*state_)[1] = offset; }
  uint64_t get_offset() const override { return (*state_)[1]; }
  uint64_t current_seed() const override { return (*state_)[0]; }
  uint64_t seed() override {
    *state_ = {c10::detail::getNonDeterministicRandom(), 0};
    return current_seed();
  }
  void set_state(const c10::TensorImpl& from) override {
    std::memcpy(state_->data(), from.data(), sizeof(state));
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    const at::Tensor made = at::detail::empty_cpu({sizeof(state)}, at::kByte);
    std::memcpy(made.mutable_data_ptr(), state_->data(), sizeof(state));
    return made.getIntrusivePtr();
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& from) override {
    state_ = dynamic_cast<const generator&>(*from).state_;
  }
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    auto sharing = c10::make_intrusive<generator>(device_.index());
    sharing->state_ = state_;
    return sharing;
  }

 private:
  generator* clone_impl() const override {
    auto* const copy = new generator(device_.index());
    *copy->state_ = *state_;
    return copy;
  }

  std::shared_ptr<state> state_ = std::make_shared<state>(state{c10::default_rng_seed_val, 0});
};

// torch finds it by this name.
struct HPUHooks final : at::HPUHooksInterface {
  explicit HPUHooks(at::HPUHooksArgs) {}
  void init() const override { TORCH_CHECK(hpu_start_problem().empty(), hpu_start_problem()); }
  bool hasHPU() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex device) const override { return device == 0; }
  bool isPinnedPtr(const void* data) const override {
    outback_pointer_info info{};
    info.struct_size = sizeof info;
    check_hpu(hpu_runtime().host_memory->info(hpu_runtime().self, data, &info));
    return info.pinned != 0;
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return &hpu_host_allocator(); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    static auto& all = *new std::array<at::Generator, 2>{at::make_generator<generator>(0),
                                                         at::make_generator<generator>(1)};
    return all.at(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return at::make_generator<generator>(device);
  }
};

}  // namespace

void set_hpu_count(c10::DeviceIndex devices);

std::string& hpu_start_problem() {
  static auto& problem = *new std::string;
  return problem;
}

void register_hpu(c10::DeviceIndex devices) {
  set_hpu_count(devices);
  static const c10::impl::DeviceGuardImplRegistrar registered(hpu, &hpu_guard());
  c10::SetAllocator(hpu, &hpu_allocator());
  at::setHostAllocator(hpu, &hpu_host_allocator());
  at::HPUHooksRegistry()->Register("HPUHooks", [](at::HPUHooksArgs args) {
    return std::unique_ptr<at::HPUHooksInterface>(new HPUHooks(args));
  });
}

}  // namespace outback::test
