// torch's own functions for cuDNN's layers insist on tensors of CUDA's. They prepare a call of one
// operator, _cudnn_rnn, which has derivatives and runs on a twin as any other. This file prepares
// that call as they do: the numbers are those of CUDA's own tensors.
#include "backend_template/ops/cudnn/cudnn_layers.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_cudnn_init_dropout_state.h>
#include <ATen/ops/_cudnn_rnn.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/util/Exception.h>

#include <array>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/device.h"
#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/streams/stream.h"

namespace outback::ops {
namespace {

// The random numbers of cuDNN's dropout: a state for each thread of its kernels, some 2 MiB, which
// every layer that drops out moves on.
struct dropout_state {
  at::Tensor buffer;
  uint64_t seedings = 0;  // of the generator that it was seeded from, at that time
  std::optional<c10::Event> last_use;
};

// The states that no call uses, by device. A call takes one and puts it back, so that two threads
// never move the same one; where one thread trains, there is one for each device, as CUDA has.
struct idle_states {
  std::mutex mutex;
  std::array<std::list<dropout_state>, core::max_devices> by_device;
};

idle_states& all_idle_states() {
  static auto& all = *new idle_states;  // leaked: tensors must not die after their runtime
  return all;
}

uint64_t seedings_of(c10::DeviceIndex device) {
  at::Generator generator = core::default_generator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get<core::generator>()->seedings();
}

// A state, for one call of a layer. It goes back whatever happens: freed, its memory would go to a
// stream that does not know of its last use.
class borrowed_state {
 public:
  explicit borrowed_state(c10::DeviceIndex device) : device_(device) {
    {
      idle_states& all = all_idle_states();
      const std::lock_guard<std::mutex> lock(all.mutex);
      auto& idle = all.by_device[static_cast<size_t>(device)];
      if (!idle.empty()) taken_.splice(taken_.end(), idle, std::prev(idle.end()));
    }
    if (taken_.empty()) taken_.emplace_back();
  }
  borrowed_state(const borrowed_state&) = delete;
  borrowed_state& operator=(const borrowed_state&) = delete;
  ~borrowed_state() {
    idle_states& all = all_idle_states();
    const std::lock_guard<std::mutex> lock(all.mutex);
    auto& idle = all.by_device[static_cast<size_t>(device_)];
    idle.splice(idle.end(), taken_);  // allocates nothing
  }

  // Returns the state, for work on the current stream. Seeds it if it is new, or if the device's
  // generator was seeded since.
  const at::Tensor& prepare(double dropout, bool train, const at::TensorOptions& options) {
    wait_for_last_use();
    dropout_state& state = taken_.front();
    const uint64_t seedings = seedings_of(device_);
    if (state.buffer.defined() && state.seedings == seedings) return state.buffer;
    const int64_t seed = at::empty({}, options.dtype(c10::kLong)).random_().item<int64_t>();
    at::Tensor fresh =
        at::_cudnn_init_dropout_state(dropout, train, seed, options.dtype(c10::kByte));
    if (state.buffer.defined()) {
      // The address stays, which a graph may have; and the version, which autograd compares.
      const at::AutoDispatchBelowADInplaceOrView below;
      state.buffer.copy_(fresh);
    } else {
      state.buffer = std::move(fresh);
    }
    state.seedings = seedings;
    return state.buffer;
  }

  // After the call: the next one may be on another stream. What a capture holds runs later, and an
  // event from outside would end it.
  void note_use() {
    const c10::Stream stream = core::current_stream(device_);
    if (core::capture_of(stream)) return;
    std::optional<c10::Event>& last_use = taken_.front().last_use;
    if (!last_use) last_use.emplace(core::device_type);
    last_use->record(stream);
  }

 private:
  void wait_for_last_use() {
    const std::optional<c10::Event>& last_use = taken_.front().last_use;
    if (!last_use) return;
    const c10::Stream stream = core::current_stream(device_);
    if (!core::capture_of(stream)) last_use->block(stream);
  }

  c10::DeviceIndex device_;
  std::list<dropout_state> taken_;  // one
};

// Keeps one warning back: that the weights are not one block of memory and that flatten_parameters
// makes them one, which it does for CUDA's tensors alone.
class without_weights_warning final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    constexpr std::string_view weights = "RNN module weights are not part of single contiguous";
    if (warning.msg().starts_with(weights)) return;
    outer_->process(warning);
  }

 private:
  c10::WarningHandler* outer_ = c10::WarningUtils::get_warning_handler();
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

at::IntArrayRef packed_sizes(const at::Tensor& batch_sizes) {
  if (!batch_sizes.defined()) return {};
  TORCH_CHECK(batch_sizes.dim() == 1, "batch_sizes tensor should be 1D");
  TORCH_CHECK(batch_sizes.device().is_cpu(), "batch_sizes tensor should be on CPU, but got ",
              batch_sizes.device());
  return {batch_sizes.const_data_ptr<int64_t>(), static_cast<size_t>(batch_sizes.size(0))};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> run_cudnn_layers(
    const cudnn_layers& layers, const at::Tensor& input, const at::Tensor& batch_sizes,
    const at::Tensor& hx, const at::Tensor& cx, at::TensorList weights) {
  const at::IntArrayRef sizes = packed_sizes(batch_sizes);
  const bool has_projection = cx.defined() && cx.size(2) != hx.size(2);
  std::optional<borrowed_state> dropout;
  std::optional<at::Tensor> state;
  if (layers.train && layers.dropout > 0) {
    dropout.emplace(input.device().index());
    state = dropout->prepare(layers.dropout, layers.train, input.options().requires_grad(false));
  }

  // Under autocast CUDA's layers run in float16, whichever dtype was asked for.
  const bool is_cast = at::autocast::is_autocast_enabled(core::device_type);
  const auto cast = [is_cast](const at::Tensor& tensor) {
    return is_cast && tensor.defined()
               ? at::autocast::cached_cast(c10::kHalf, tensor, core::device_type)
               : tensor;
  };
  const at::Tensor cast_input = cast(input), cast_hx = cast(hx), cast_cx = cast(cx);
  std::vector<at::Tensor> cast_weights;
  if (is_cast) {
    cast_weights.reserve(weights.size());
    for (const at::Tensor& weight : weights) cast_weights.push_back(cast(weight));
    weights = cast_weights;
  }
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);

  without_weights_warning quiet;
  auto [output, hy, cy, reserve, flat_weights] = at::_cudnn_rnn(
      cast_input, weights, (layers.has_biases ? 4 : 2) + (has_projection ? 1 : 0),
      /*weight_buf=*/{}, cast_hx, cast_cx, static_cast<int64_t>(layers.cell),
      has_projection ? cx.size(2) : hx.size(2), has_projection ? hx.size(2) : 0, layers.layers,
      layers.batch_first, layers.dropout, layers.train, layers.bidirectional, sizes, state);
  if (dropout) dropout->note_use();
  return {std::move(output), std::move(hy), std::move(cy)};
}

}  // namespace outback::ops
