#include "backend_template/core/interfaces/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstring>
#include <mutex>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

constexpr int64_t state_size = sizeof(uint64_t) * 2;
// Philox 4x32 makes four numbers in a call, so positions are multiples of it, as in torch.cuda.
constexpr uint64_t draws_per_philox_call = 4;

// Returns a seed for a CPU generator. It spreads the position over 64 bits with the finalizer of
// SplitMix64 (Steele, Lea and Flood 2014), so that neighbouring offsets seed unrelated sequences.
uint64_t mix(philox_position position) {
  uint64_t z = position.seed + 0x9e3779b97f4a7c15ULL * (position.offset + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

generator::generator(c10::DeviceIndex device)
    : c10::GeneratorImpl(c10::Device(core::device_type, device),
                         c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

void generator::set_current_seed(uint64_t seed) {
  *position_ = {seed, 0};
}

void generator::set_offset(uint64_t offset) {
  TORCH_CHECK(offset % draws_per_philox_call == 0, "offset must be a multiple of 4, got ", offset);
  position_->offset = offset;
}

uint64_t generator::get_offset() const {
  return position_->offset;
}

uint64_t generator::current_seed() const {
  return position_->seed;
}

uint64_t generator::seed() {
  const uint64_t random = c10::detail::getNonDeterministicRandom();
  set_current_seed(random);
  return random;
}

void generator::set_state(const c10::TensorImpl& state) {
  at::detail::check_rng_state(state);
  TORCH_CHECK(state.numel() == state_size, "the state of a ", backend_name(), " generator has ",
              state_size, " bytes (seed and offset), got ", state.numel());
  std::array<uint64_t, 2> words;
  std::memcpy(words.data(), state.data(), state_size);
  TORCH_CHECK(words[1] % draws_per_philox_call == 0,
              "the offset in a generator's state must be a multiple of 4, got ", words[1]);
  *position_ = {words[0], words[1]};
}

c10::intrusive_ptr<c10::TensorImpl> generator::get_state() const {
  at::Tensor state = at::detail::empty_cpu({state_size}, at::kByte);
  const std::array<uint64_t, 2> words{position_->seed, position_->offset};
  std::memcpy(state.mutable_data_ptr(), words.data(), state_size);
  return state.getIntrusivePtr();
}

void generator::graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& state) {
  const auto* other = dynamic_cast<const generator*>(state.get());
  TORCH_CHECK(other != nullptr, "the state of a ", backend_name(),
              " generator must come from one of that device");
  position_ = other->position_;
}

c10::intrusive_ptr<c10::GeneratorImpl> generator::graphsafe_get_state() const {
  // A new object around the same position: torch.cuda's generators share their state so too.
  auto sharing = c10::make_intrusive<generator>(device_.index());
  sharing->position_ = position_;
  return sharing;
}

philox_position generator::advance(uint64_t draws) {
  // A capture on another stream does not matter: the kernel goes to the current one.
  if (const auto open = capture_of(current_stream(device_.index()))) {
    refuse_in_capture(open.get(),
                      "a kernel takes the position of its random numbers from the host, and would "
                      "draw the same ones in each replay");
  }
  return take(draws);
}

philox_position generator::take(uint64_t draws) {
  const philox_position position = *position_;
  position_->offset +=
      (draws + draws_per_philox_call - 1) / draws_per_philox_call * draws_per_philox_call;
  return position;
}

void generator::put_back(philox_position start, uint64_t drawn) noexcept {
  if (position_->seed == start.seed && position_->offset >= drawn) {
    position_->offset -= drawn;
  } else {
    *position_ = start;
  }
}

generator* generator::clone_impl() const {
  auto* copy = new generator(device_.index());
  *copy->position_ = *position_;
  return copy;
}

const at::Generator& default_generator(c10::DeviceIndex device) {
  // Never destroyed: operators may draw numbers while the process ends.
  struct slot {
    std::once_flag once;
    at::Generator generator;
  };
  static auto& all = *new std::array<slot, max_devices>;
  slot& place = all[resolve_index(device)];
  std::call_once(place.once,
                 [&] { place.generator = at::make_generator<generator>(resolve_index(device)); });
  return place.generator;
}

at::Generator cpu_generator_at(philox_position position) {
  return at::detail::createCPUGenerator(mix(position));
}

at::Generator shadow_generator(const at::Generator& device_generator, c10::DeviceIndex device) {
  auto* source = at::get_generator_or_default<generator>(
      device_generator.defined() ? std::optional<at::Generator>(device_generator) : std::nullopt,
      default_generator(device));
  const std::lock_guard<std::mutex> lock(source->mutex_);
  // One step, however many numbers the operator draws: the CPU generator is seeded with the
  // position, and does not continue the device's sequence.
  return cpu_generator_at(source->advance(draws_per_philox_call));
}

at::Generator twin_generator(const at::Generator& ours, c10::DeviceIndex device) {
  auto* source = at::get_generator_or_default<generator>(
      ours.defined() ? std::optional<at::Generator>(ours) : std::nullopt,
      default_generator(device));
  const std::lock_guard<std::mutex> lock(source->mutex_);
  const philox_position position = source->advance(draws_per_philox_call);
  at::Generator theirs = at::globalContext().defaultGenerator(twin_of(device).value());
  theirs.set_current_seed(position.seed);
  theirs.set_offset(position.offset);
  return theirs;
}

}  // namespace outback::core
