// Random numbers: the device's generator, and the CPU generators that stand in for it when a random
// operator runs on the CPU.
//
// A generator is a Philox position (seed, offset). On a device with a twin (twin/twin.h) a
// generator forwards to a generator of the twin once the backend has started; before, it keeps its
// position itself. Its state has 16 bytes in the layout of torch.cuda, on which DTensor and
// AOTAutograd rely.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "backend_template/core/devices/device.h"

namespace outback::core {

/// The start of a kernel's random numbers. The offset counts the numbers that each thread of
/// earlier kernels may have drawn, and is a multiple of 4.
struct philox_position {
  uint64_t seed;
  uint64_t offset;
};

/// The generator behind torch.Generator(device="<name>"). Not thread-safe: as for all generators of
/// torch, hold its `mutex_` around every call. For overrides without a comment, see torch's
/// c10::GeneratorImpl.
class generator final : public c10::GeneratorImpl {
 public:
  /// With `is_default` it forwards to the twin's default generator, otherwise to a new one. `seed`
  /// is the initial seed, if one was set before.
  explicit generator(c10::DeviceIndex device, bool is_default = false,
                     std::optional<uint64_t> seed = std::nullopt);

  /// Sets the seed, and the offset to 0.
  void set_current_seed(uint64_t seed) override;
  /// Throws c10::Error (RuntimeError) unless `offset` is a multiple of 4.
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  uint64_t current_seed() const override;
  /// Sets and returns a nondeterministic seed.
  uint64_t seed() override;
  /// Reads 16 bytes of CPU memory: the seed, then the offset. Throws c10::Error (RuntimeError) for
  /// any other size, and for an offset that is not a multiple of 4.
  void set_state(const c10::TensorImpl& state) override;
  /// Returns a new CPU tensor with the 16 bytes that `set_state` reads.
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  /// From now on, shares the position of `state`, another generator of this backend, as generators
  /// of torch.cuda do. Each generator has its own mutex, so the caller must prevent concurrent use
  /// of the two. Throws c10::Error for another kind of generator.
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& state) override;
  /// Returns a new generator that shares this one's position.
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override;

  /// Returns how often this generator was given a seed, an offset or a state. A generator that is
  /// seeded from this one and then draws by itself, as in cuDNN's dropout, must be seeded again
  /// when the count has changed.
  uint64_t seedings() const { return seedings_; }

  /// Returns the position for a kernel whose threads draw up to `draws` numbers each, and adds
  /// `draws`, rounded up to a multiple of 4, to the offset, since Philox makes four numbers at a
  /// time.
  ///
  /// Throws c10::Error (RuntimeError), and breaks the capture, if the device's current stream is
  /// capturing: each replay would use this position and repeat the numbers.
  philox_position advance(uint64_t draws);
  /// Does what `advance` does, but also during a capture. For host_program, which gives each launch
  /// a position of its own.
  philox_position take(uint64_t draws);
  /// Subtracts `drawn` from the offset, to undo the draws that a capture made from `start` on.
  /// Other draws made meanwhile still count. If the generator was seeded meanwhile, sets the
  /// position to `start`. For host_program, and only for devices on which CPU kernels run.
  void put_back(philox_position start, uint64_t drawn) noexcept;

  /// Returns the twin's generator to which this one forwards, or an undefined generator if the
  /// device has no twin or the backend has not started. The first call copies a position that was
  /// set on this generator to the twin's.
  const at::Generator& of_twin() const;

  /// Lets at::check_generator recognize this type.
  static c10::DeviceType device_type() { return core::device_type; }

 private:
  generator* clone_impl() const override;
  philox_position position() const;
  void set_position(philox_position position);

  // Shared by the generators that graphsafe_set_state and graphsafe_get_state connect.
  std::shared_ptr<philox_position> position_ =
      std::make_shared<philox_position>(philox_position{c10::default_rng_seed_val, 0});
  bool is_default_;
  bool is_set_ = false;  // the position was set
  uint64_t seedings_ = 0;
  mutable at::Generator of_twin_;
};

/// Returns the generator of operators that get no generator argument. A negative index means the
/// current device. The reference is valid until the process ends. Thread-safe. Throws what
/// check_index throws for an index out of range.
const at::Generator& default_generator(c10::DeviceIndex device);

/// Seeds the default generators of all devices. Generators that do not exist yet get the seed when
/// they are made. Does not count devices, so it starts no driver and is safe before a fork.
/// Thread-safe.
void seed_default_generators(uint64_t seed);

/// Returns the twin's generator behind `ours`, a generator of this backend. If `ours` is undefined,
/// returns the one behind the default generator of device `index`. The device must have a twin.
/// Locks `ours`. Throws c10::Error for a generator of another type.
at::Generator twin_generator(const at::Generator& ours, c10::DeviceIndex index);

/// Returns a new CPU generator for one operator whose numbers start at `position`. The same
/// position always gives the same numbers.
at::Generator cpu_generator_at(philox_position position);

/// Returns a new CPU generator for one random operator that runs on the CPU, seeded from the
/// position of `device_generator`, or of the default generator of `device` if `device_generator` is
/// undefined. Advances the device generator's offset, so that the next operator gets other numbers.
/// Locks the device generator. Throws what `advance` throws, and c10::Error for a generator of
/// another type.
at::Generator shadow_generator(const at::Generator& device_generator, c10::DeviceIndex device);

}  // namespace outback::core
