#include "backend_template/core/interfaces/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <mutex>
#include <vector>

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

generator::generator(c10::DeviceIndex device, bool is_default, std::optional<uint64_t> seed)
    : c10::GeneratorImpl(c10::Device(core::device_type, device),
                         c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
      is_default_(is_default),
      is_set_(seed.has_value()) {
  if (seed) position_->seed = *seed;
}

const at::Generator& generator::of_twin() const {
  if (of_twin_.defined()) return of_twin_;
  const auto twin = started_twin_of(device_.index());
  if (!twin) return of_twin_;
  const auto& hooks = at::globalContext().getAcceleratorHooksInterface(twin->type());
  at::Generator found =
      is_default_ ? hooks.getDefaultGenerator(twin->index()) : hooks.getNewGenerator(twin->index());
  if (is_set_) {
    const std::lock_guard<std::mutex> lock(found.mutex());
    found.set_current_seed(position_->seed);
    found.set_offset(position_->offset);
  }
  return of_twin_ = std::move(found);
}

philox_position generator::position() const {
  at::Generator twin = of_twin();
  if (!twin.defined()) return *position_;
  const std::lock_guard<std::mutex> lock(twin.mutex());
  return {twin.current_seed(), twin.get_offset()};
}

void generator::set_position(philox_position position) {
  at::Generator twin = of_twin();
  if (twin.defined()) {
    const std::lock_guard<std::mutex> lock(twin.mutex());
    twin.set_current_seed(position.seed);
    twin.set_offset(position.offset);
  } else {
    *position_ = position;
    is_set_ = true;
  }
}

void generator::set_current_seed(uint64_t seed) {
  ++seedings_;
  set_position({seed, 0});
}

void generator::set_offset(uint64_t offset) {
  TORCH_CHECK(offset % draws_per_philox_call == 0, "offset must be a multiple of 4, got ", offset);
  ++seedings_;
  set_position({current_seed(), offset});
}

uint64_t generator::get_offset() const {
  return position().offset;
}

uint64_t generator::current_seed() const {
  return position().seed;
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
  ++seedings_;
  set_position({words[0], words[1]});
}

c10::intrusive_ptr<c10::TensorImpl> generator::get_state() const {
  at::Tensor state = at::detail::empty_cpu({state_size}, at::kByte);
  const philox_position now = position();
  const std::array<uint64_t, 2> words{now.seed, now.offset};
  std::memcpy(state.mutable_data_ptr(), words.data(), state_size);
  return state.getIntrusivePtr();
}

void generator::graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& state) {
  const auto* other = dynamic_cast<const generator*>(state.get());
  at::Generator twin = of_twin();
  TORCH_CHECK(other != nullptr && other->of_twin().defined() == twin.defined(), "the state of a ",
              backend_name(), " generator must come from one of that device");
  if (twin.defined()) {
    const std::lock_guard<std::mutex> lock(twin.mutex());
    twin.graphsafe_set_state(other->of_twin());
  } else {
    position_ = other->position_;
  }
}

c10::intrusive_ptr<c10::GeneratorImpl> generator::graphsafe_get_state() const {
  // A new object around the same position: torch.cuda's generators share their state so too.
  auto sharing = c10::make_intrusive<generator>(device_.index());
  sharing->position_ = position_;
  if (of_twin().defined()) sharing->of_twin_ = of_twin_.graphsafe_get_state();
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
  const philox_position before = position();
  const uint64_t calls = (draws + draws_per_philox_call - 1) / draws_per_philox_call;
  set_position({before.seed, before.offset + calls * draws_per_philox_call});
  return before;
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
  copy->is_set_ = is_set_;
  if (of_twin().defined()) copy->of_twin_ = of_twin_.clone();
  return copy;
}

namespace {

struct default_generators {
  std::array<std::once_flag, max_devices> once;
  std::mutex mutex;              // of what follows
  std::optional<uint64_t> seed;  // of those that are not made yet
  std::array<at::Generator, max_devices> made;
};

// Never destroyed: operators may draw numbers while the process ends.
default_generators& all_default_generators() {
  static auto& all = *new default_generators;
  return all;
}

}  // namespace

const at::Generator& default_generator(c10::DeviceIndex device) {
  const c10::DeviceIndex index = resolve_index(device);
  default_generators& all = all_default_generators();
  std::call_once(all.once[index], [&] {
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.made[index] = at::make_generator<generator>(index, /*is_default=*/true, all.seed);
  });
  return all.made[index];
}

void seed_default_generators(uint64_t seed) {
  default_generators& all = all_default_generators();
  std::vector<at::Generator> made;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.seed = seed;
    std::copy_if(all.made.begin(), all.made.end(), std::back_inserter(made),
                 [](const at::Generator& each) { return each.defined(); });
  }
  for (at::Generator& each : made) {
    const std::lock_guard<std::mutex> lock(each.mutex());
    each.set_current_seed(seed);
  }
}

at::Generator twin_generator(const at::Generator& ours, c10::DeviceIndex index) {
  auto* source = at::get_generator_or_default<generator>(
      ours.defined() ? std::optional<at::Generator>(ours) : std::nullopt, default_generator(index));
  const std::lock_guard<std::mutex> lock(source->mutex_);
  const at::Generator& twin = source->of_twin();
  TORCH_CHECK(twin.defined(), "the generator is of ", source->device(),
              ", which has no device of PyTorch's own");
  return twin;
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

}  // namespace outback::core
