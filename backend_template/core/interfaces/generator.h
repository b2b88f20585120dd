// Random numbers: a Philox position (seed, offset) per device, in the 16-byte layout that DTensor,
// AOTAutograd and torch.cuda share.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "backend_template/core/devices/device.h"

namespace outback::core {

/// Where a kernel's random numbers start.
struct philox_position {
  uint64_t seed;
  uint64_t offset;
};

/// Lock `mutex_` around every call, as for all of torch's generators.
class generator final : public c10::GeneratorImpl {
 public:
  explicit generator(c10::DeviceIndex device);

  void set_current_seed(uint64_t seed) override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  /// 16 bytes on the CPU: seed, then offset.
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  /// From now on both share one position, as torch.cuda's do; `graphsafe_get_state` answers a
  /// generator that shares this one's. Drawing from two that share takes the lock of one only: that
  /// they are not used at the same time is for the caller to see to.
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& state) override;
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override;

  /// The position for a kernel that draws up to `draws` numbers a thread; the offset moves behind
  /// them, rounded up to a multiple of 4 as Philox makes four at a time. Throws, and breaks the
  /// capture, while the device's current stream is capturing: each launch would repeat the numbers.
  philox_position advance(uint64_t draws);
  /// The same for who sees to it that every launch has numbers of its own.
  philox_position take(uint64_t draws);
  void put_back(philox_position position) noexcept { *position_ = position; }

  static c10::DeviceType device_type() { return core::device_type; }

 private:
  generator* clone_impl() const override;

  std::shared_ptr<philox_position> position_ =
      std::make_shared<philox_position>(philox_position{c10::default_rng_seed_val, 0});
};

/// The generator that operators use when none is given. A negative index means the current device.
const at::Generator& default_generator(c10::DeviceIndex device);

/// A CPU generator for an operator whose numbers start at `position`: the same for the same one.
at::Generator cpu_generator_at(philox_position position);

/// A CPU generator that continues from `device_generator`'s position, for a random operator that
/// runs on the CPU; the device's offset moves on, so that two calls never draw the same numbers.
/// `device_generator` may be undefined: then the default generator of `device` is used. Locks it.
at::Generator shadow_generator(const at::Generator& device_generator, c10::DeviceIndex device);

}  // namespace outback::core
