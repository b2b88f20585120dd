#include "backend_template/core/graphs/host_program.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/host_failure.h"
#include "backend_template/core/memory/allocator/freeing.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

// Programs whose graphs are gone and whose launches may still run. Never destroyed: a launch may
// run while the process ends.
struct waiting_programs {
  std::mutex mutex;
  std::vector<std::shared_ptr<host_program>> all;
};

waiting_programs& waiting() {
  static auto& programs = *new waiting_programs;
  return programs;
}

// Launches of all programs that are enqueued or running, and the process that enqueued the last: a
// forked child has none of them.
std::atomic<int> all_pending{0};
std::atomic<pid_t> launching_process{0};

void enqueue(const c10::Stream& stream, void (*callback)(void*), void* data) {
  const c10::DeviceIndex device = stream.device_index();
  check(runtime().callbacks->enqueue(runtime().self, device, callback, data, handle_of(stream)),
        "callbacks.enqueue", device);
}

}  // namespace

// Both directions are needed: a CPU kernel works on device memory, and what it allocates becomes
// the memory of a device tensor.
bool records_host_operators(c10::DeviceIndex device) {
  return runtime().callbacks != nullptr && runs_cpu_kernels(device) && addresses_host(device);
}

void host_program::begin(const c10::Stream& stream) {
  enqueue(stream, &start_launch, this);
}

void host_program::end(const c10::Stream& stream) {
  enqueue(stream, &finish_launch, this);
}

void host_program::add(const c10::Stream& stream, step work) {
  node* added = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    added = &nodes_.emplace_back(node{this, std::move(work)});
  }
  enqueue(stream, &run_node, added);
}

host_program::draw host_program::take_numbers(const at::Generator& device_generator,
                                              c10::DeviceIndex device) {
  const at::Generator& used =
      device_generator.defined() ? device_generator : default_generator(device);
  auto* const taken = at::check_generator<generator>(used);
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::lock_guard<std::mutex> numbers(taken->mutex_);
  // The position at the first use of each generator is where a launch starts.
  auto it = std::find_if(sources_.begin(), sources_.end(),
                         [&](const source& each) { return each.generator == used; });
  if (it == sources_.end()) {
    it = sources_.insert(it, {used, {taken->current_seed(), taken->get_offset()}});
  }
  // Operators on the CPU seed a generator with one position, so each takes a single step of it.
  const philox_position here = taken->take(1);
  // A launch only adds to the offset at which it finds the generator, so the numbers of one capture
  // have to follow one another.
  TORCH_CHECK(here.seed == it->start.seed && here.offset == it->start.offset + it->drawn,
              backend_name(),
              ": a generator was seeded, or its state was set, while its numbers were captured in "
              "a graph: do that before the capture or after it");
  it->drawn = taken->get_offset() - it->start.offset;
  return {static_cast<std::size_t>(it - sources_.begin()), here.offset - it->start.offset};
}

host_program::positions host_program::starts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  positions all;
  for (const source& drawn_from : sources_) all.push_back(drawn_from.start);
  return all;
}

void host_program::rewind_generators() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const source& drawn_from : sources_) {
    auto* const used = static_cast<generator*>(drawn_from.generator.unsafeGetGeneratorImpl());
    const std::lock_guard<std::mutex> numbers(used->mutex_);
    used->put_back(drawn_from.start, drawn_from.drawn);
  }
}

void host_program::keep_input(const c10::Storage& storage, const void* data) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = std::find_if(inputs_.begin(), inputs_.end(), [&](const input& used) {
    return used.storage.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl();
  });
  if (known == inputs_.end()) {
    inputs_.push_back({storage, data});
  } else {
    known->data = data;  // an operator of this capture has given the storage other memory
  }
}

void host_program::forget_input(const c10::StorageImpl* storage) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(inputs_,
                [&](const input& used) { return used.storage.unsafeGetStorageImpl() == storage; });
}

void host_program::prepare_launch() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const input& used : inputs_) {
    TORCH_CHECK(used.storage.data() == used.data, backend_name(),
                ": the graph was captured with a tensor whose memory is another one now (",
                used.storage.nbytes(),
                " bytes): fill such tensors in place, or capture the graph anew");
  }
  // All inputs were checked before a generator moves: a refused launch draws no numbers.
  positions here;
  for (const source& drawn_from : sources_) {
    auto* const used = static_cast<generator*>(drawn_from.generator.unsafeGetGeneratorImpl());
    const std::lock_guard<std::mutex> numbers(used->mutex_);
    here.push_back(used->take(drawn_from.drawn));
  }
  prepared_.push_back({std::move(here), at::get_num_threads()});
  pending_.fetch_add(1, std::memory_order_relaxed);
  const pid_t process = getpid();
  if (launching_process.exchange(process, std::memory_order_relaxed) != process) all_pending = 0;
  all_pending.fetch_add(1, std::memory_order_relaxed);
}

void host_program::cancel_launch() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!prepared_.empty()) prepared_.pop_back();  // the latest one, which was never enqueued
  pending_.fetch_sub(1, std::memory_order_relaxed);
  all_pending.fetch_sub(1, std::memory_order_relaxed);
}

void host_program::start_launch(void* program) noexcept {
  auto& started = *static_cast<host_program*>(program);
  const std::lock_guard<std::mutex> lock(started.mutex_);
  // Launches run in the order in which they were prepared. Without positions the steps are skipped.
  started.failed_.store(started.prepared_.empty(), std::memory_order_relaxed);
  if (started.prepared_.empty()) return;
  started.current_ = std::move(started.prepared_.front());
  started.prepared_.pop_front();
}

void host_program::run_node(void* data) noexcept {
  auto& called = *static_cast<node*>(data);
  host_program& program = *called.program;
  // After a failure, skip the rest of this launch: it would read results that were not computed.
  if (program.failed_.load(std::memory_order_relaxed)) return;
  try {
    // The number of a thread of the runtime's is otherwise the one that it began with.
    const int threads = program.current_.threads;
    if (at::get_num_threads() != threads) at::set_num_threads(threads);
    called.work(program.current_.starts);
  } catch (...) {
    // There is nobody to throw it to: this is a thread of the runtime's.
    program.failed_.store(true, std::memory_order_relaxed);
    report_handled(program.device_, "an operator failed in a graph's replay");
  }
}

void host_program::finish_launch(void* program) noexcept {
  static_cast<host_program*>(program)->pending_.fetch_sub(1, std::memory_order_release);
  all_pending.fetch_sub(1, std::memory_order_release);
}

void host_program::wait_for_all(std::chrono::steady_clock::time_point deadline) noexcept {
  constexpr std::chrono::milliseconds between_looks{1};
  if (launching_process.load(std::memory_order_relaxed) != getpid()) return;
  const without_interpreter_lock while_it_waits;
  while (all_pending.load(std::memory_order_acquire) > 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(between_looks);
  }
}

void host_program::release(std::shared_ptr<host_program>&& gone) {
  if (gone == nullptr || gone->pending_.load(std::memory_order_acquire) == 0) return gone.reset();
  set_wait_for_launches(&wait_for_launches);
  const std::lock_guard<std::mutex> lock(waiting().mutex);
  waiting().all.push_back(std::move(gone));
}

void host_program::wait_for_launches(c10::DeviceIndex device) {
  {
    const std::lock_guard<std::mutex> lock(waiting().mutex);
    const auto is_there = [&](const auto& program) { return program->device_ == device; };
    if (std::none_of(waiting().all.begin(), waiting().all.end(), is_there)) return;
  }
  synchronize_device(device);
  release_finished();
}

void host_program::release_finished() {
  // These die after the lock is released: they free tensors, which may take other locks.
  std::vector<std::shared_ptr<host_program>> over;
  {
    const std::lock_guard<std::mutex> lock(waiting().mutex);
    auto& all = waiting().all;
    const auto first = std::stable_partition(all.begin(), all.end(), [](const auto& program) {
      return program->pending_.load(std::memory_order_acquire) != 0;
    });
    over.assign(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    all.erase(first, all.end());
  }
}

}  // namespace outback::core
