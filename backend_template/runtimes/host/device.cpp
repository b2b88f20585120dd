#include "backend_template/runtimes/host/device.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "outback/runtime_error.hpp"

namespace outback::host {

namespace {

bool has_told(const stream& of) {
  return !of.failure()->is_kept();
}

}  // namespace

device::device(int32_t index, uint64_t memory_size, uint64_t adversarial,
               std::shared_ptr<failing_work> failing)
    : index_(index),
      memory_size_(memory_size),
      adversarial_(adversarial),
      failing_(std::move(failing)),
      default_stream_(new_stream(0)) {}

device::~device() {
  // A stream in a capture would refuse to be waited for.
  default_stream_->abandon_capture();
  for (const auto& s : streams_) s->queue().abandon_capture();
  try {
    sync();
  } catch (const runtime_error&) {  // NOLINT(bugprone-empty-catch)
    // In a forked child the streams' threads do not exist, so there is nothing to wait for. What
    // has failed late is nobody's any more.
  }
  default_stream_->close();
  for (const auto& s : streams_) s->queue().close();
}

void device::reserve(uint64_t size) {
  active_.store(true, std::memory_order_relaxed);
  budget_.take(size, memory_size_, index_);
}

std::shared_ptr<stream> device::new_stream(int32_t priority) {
  stream_options options = {.priority = std::clamp(priority, greatest_priority, least_priority),
                            .adversary = std::nullopt,
                            .failing = failing_};
  if (adversarial_ != 0) {
    // A sequence of its own for each stream of each device.
    options.adversary.emplace(adversarial_, (uint64_t(index_) << 32) + streams_made_++);
  }
  return std::make_shared<stream>(index_, busy_, options, log_);
}

stream* device::create_stream(int32_t priority) {
  const std::lock_guard lock(mutex_);
  auto fresh = new_stream(priority);
  forget_finished();
  active_.store(true, std::memory_order_relaxed);
  return streams_.emplace_back(std::move(fresh)).get();
}

stream* device::wrap_stream(const void* native) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<stream> queue;
  // The handle comes from the caller and may be any address, so it is only compared.
  if (native == default_stream_.get()) queue = default_stream_;
  for (const auto& s : streams_) {
    if (native == &s->queue()) queue = s->queue().shared_from_this();
  }
  if (native == nullptr || queue == nullptr) {
    throw invalid_argument(
        "the handle is not one that native.stream answered for a stream of device " +
        std::to_string(index_) + " which is still there");
  }
  return streams_.emplace_back(std::make_shared<stream>(std::move(queue))).get();
}

void device::destroy_stream(stream* given) {
  const std::lock_guard lock(mutex_);
  forget_finished();
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const auto& s) { return s.get() == given; });
  if (found == streams_.end()) {
    throw invalid_argument("the stream is not one that device " + std::to_string(index_) +
                           " created");
  }
  const auto queue = (*found)->queue().shared_from_this();
  *found = std::move(streams_.back());
  streams_.pop_back();
  const bool in_use = queue == default_stream_ ||
                      std::any_of(streams_.begin(), streams_.end(),
                                  [&](const auto& s) { return &s->queue() == queue.get(); });
  if (in_use) return;
  // A capture whose stream is gone can never be joined, so it breaks now.
  queue->abandon_capture();
  // `sync` has to wait for this work too. The list lets go of the queue once it is idle.
  if (!queue->idle() || !has_told(*queue)) destroyed_.push_back(queue);
  queue->close();
}

void device::sync() {
  // Waiting happens without the lock, which other threads need to create streams. The vector keeps
  // the streams alive meanwhile.
  std::vector<std::shared_ptr<stream>> all;
  {
    const std::lock_guard lock(mutex_);
    forget_finished();
    all = destroyed_;
    for (const auto& s : streams_) {
      const stream& queue = s->queue();
      if (!queue.idle() || !has_told(queue)) all.push_back(s->queue().shared_from_this());
    }
  }
  // All streams are asked before the first is waited for, so that a refused call has waited for
  // nothing.
  default_stream_->refuse_in_capture("waiting for its device");
  for (const auto& s : all) s->refuse_in_capture("waiting for its device");
  default_stream_->sync_untold();
  for (const auto& s : all) s->sync_untold();
  default_stream_->tell_failure();
  for (const auto& s : all) s->tell_failure();
}

void device::forget_finished() {
  std::erase_if(destroyed_, [](const auto& s) { return s->idle() && has_told(*s); });
}

}  // namespace outback::host
