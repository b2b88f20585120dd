#include "backend_template/portable/engine/draws.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "backend_template/core/interfaces/generator.h"

namespace outback::portable {
namespace {

// Of 2^18 threads any device is full. A multiple of every number of items in a group.
constexpr int64_t most_threads = 1 << 18;
constexpr int64_t threads_step = 1024;
// An offset counts words, of which Philox makes four at a time.
constexpr int64_t words_a_turn = 4;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

draws take_draws(const std::optional<at::Generator>& generator, c10::DeviceIndex device,
                 int64_t count, int values) {
  const int64_t wanted = ceil_div(ceil_div(count, values), threads_step) * threads_step;
  const int64_t threads = std::min(wanted, most_threads);
  const int64_t turns = ceil_div(count, threads * values);
  auto* source =
      at::get_generator_or_default<core::generator>(generator, core::default_generator(device));
  TORCH_CHECK(source->device().index() == device, "Expected a generator of ",
              c10::Device(core::device_type, device), " but found one of ", source->device());
  const std::lock_guard<std::mutex> lock(source->mutex_);
  const core::philox_position at = source->advance(static_cast<uint64_t>(turns * words_a_turn));
  return {at.seed, at.offset / words_a_turn, count, threads};
}

uint64_t in_words(double probability) {
  return static_cast<uint64_t>(std::llround(std::ldexp(probability, 32)));
}

}  // namespace outback::portable
