#include "backend_template/core/graphs/device_graph.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <exception>
#include <utility>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/allocator/freeing.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

// Null until registration sets it; then no operators are recorded.
void (*prepare_recorder)() = nullptr;

// How many open captures record a thread's operators. The thread and the graphs of those captures
// share the count, since another thread may end a capture, even after the capturing thread has
// ended.
using recordings = std::atomic<int>;

// The calling thread's count, or null. A plain pointer needs no destructor, so it can be read while
// the thread's other variables are destroyed.
thread_local recordings* recordings_here = nullptr;

struct recordings_owner {
  std::shared_ptr<recordings> count;
  ~recordings_owner() { recordings_here = nullptr; }
};

std::shared_ptr<recordings> recordings_of_this_thread() {
  thread_local recordings_owner owner;
  if (owner.count == nullptr) owner.count = std::make_shared<recordings>(0);
  recordings_here = owner.count.get();
  return owner.count;
}

void bring_to_recorder(bool on) noexcept {
  c10::impl::tls_set_dispatch_key_included(recorder_key, on);
}

}  // namespace

void leave_recorder_if_over() noexcept {
  if (recordings_here != nullptr && recordings_here->load(std::memory_order_relaxed) == 0) {
    bring_to_recorder(false);
  }
}

void refuse_graph_description() {
  TORCH_CHECK_NOT_IMPLEMENTED(false, backend_name(),
                              ": what is in a graph cannot be told: the runtime's group graphs has "
                              "no slot that describes one");
}

void set_operator_recorder(void (*prepare)()) {
  prepare_recorder = prepare;
}

device_graph::~device_graph() {
  // In a forked child the handles are the parent's, and the locks may be held for ever. What the
  // program and the capture hold is leaked, so that no destructor of theirs runs.
  if (is_in_bad_fork()) {
    static_cast<void>(new std::shared_ptr<host_program>(std::move(program_)));
    static_cast<void>(new std::shared_ptr<capture>(std::move(open_)));
    return;
  }
  abandon_capture();
  reset();
}

void device_graph::capture_begin(c10::MempoolId_t pool) {
  TORCH_CHECK(!is_captured_ && open_ == nullptr, backend_name(),
              ": this graph holds a capture already: reset() it first, or use a new one");
  ensure_started();
  if (runtime().graphs == nullptr) refuse_absent("graphs", "capturing work in a graph");
  const c10::Stream stream = current_stream(-1);
  TORCH_CHECK(stream.id() != 0, backend_name(),
              ": graphs are captured on a stream that is not the default one: make another one "
              "current first. (They are replayed on any.)");
  if (const auto outer = capture_of(stream)) {
    refuse_in_capture(nullptr, "another capture cannot begin on the same stream");
  }
  host_program::release_finished();
  const c10::DeviceIndex device = stream.device_index();
  const bool records = prepare_recorder != nullptr && records_host_operators(device);
  if (records) {
    // CPU operators compute while they are recorded, so the stream's earlier work has to be done.
    synchronize_stream(stream);
    prepare_recorder();
  }
  const bool has_pool = pool != c10::MempoolId_t{0, 0};
  pool_ = has_pool ? pool : new_pool_id();
  device_cache& cache = cache_of(device);
  cache.begin_pool_use(pool_);
  device_ = device;
  capturing_thread_ = std::this_thread::get_id();
  if (records) program_ = std::make_shared<host_program>(device);
  open_ = std::make_shared<capture>(stream, pool_, /*pool_is_fresh=*/!has_pool, program_);
  try {
    if (records) start_recording();
    // Before the runtime's capture begins: from then on an event that is recorded on the stream
    // says nothing of its work, and another thread that frees memory has to know that.
    open_capture(open_);
    graph_.emplace().begin_capture(stream);
    if (records) program_->begin(stream);
  } catch (...) {
    abandon_capture();
    throw;
  }
}

void device_graph::start_recording() {
  recordings_ = recordings_of_this_thread();
  recordings_->fetch_add(1, std::memory_order_relaxed);
  bring_to_recorder(true);
}

void device_graph::stop_recording() noexcept {
  const std::shared_ptr<recordings> ended = std::exchange(recordings_, nullptr);
  if (ended == nullptr || ended->fetch_sub(1, std::memory_order_relaxed) != 1) return;
  // The count may be another thread's. That thread leaves the recorder by leave_recorder_if_over().
  if (ended.get() == recordings_here) bring_to_recorder(false);
}

// Puts everything back that the capture changed, after the runtime's capture has ended or could not
// begin. The order matters: memory that was freed in the capture can wait for events only once the
// capture is out of the registry.
void device_graph::close() noexcept {
  const std::shared_ptr<capture> closing = std::exchange(open_, nullptr);
  close_capture(closing);
  stop_recording();
  free_deferred();
  closing->rollback().roll_back();
  if (program_ != nullptr) program_->rewind_generators();
}

void device_graph::capture_end() {
  TORCH_CHECK(open_ != nullptr, backend_name(), ": capture_end() without a capture_begin() before");
  TORCH_CHECK(capturing_thread_ == std::this_thread::get_id(), backend_name(),
              ": a capture ends on the thread that it began on");
  TORCH_CHECK(current_stream(device_) == open_->stream(), backend_name(),
              ": a capture ends on the stream that it began on, which is ", open_->stream(),
              ": the current one is ", current_stream(device_));
  // The runtime's capture has to be ended in any case, so failures are thrown afterwards.
  std::string problem = open_->problem();
  std::exception_ptr failed;
  try {
    if (program_ != nullptr && problem.empty()) program_->end(open_->stream());
    graph_->end_capture();
  } catch (...) {
    failed = std::current_exception();
  }
  close();
  if (failed != nullptr || !problem.empty()) {
    reset();
    // The reason that core knows says more than the runtime's failure, which follows from it.
    TORCH_CHECK(problem.empty(), backend_name(),
                ": the capture was broken off, and left no graph: ", problem);
    std::rethrow_exception(failed);
  }
  is_captured_ = true;
  if (keep_graph_) return;
  try {
    instantiate();
  } catch (...) {
    reset();
    throw;
  }
}

void device_graph::abandon_capture() noexcept {
  if (open_ == nullptr) return;
  graph_.reset();  // its destructor ends the runtime's capture
  close();
  reset();
}

void device_graph::instantiate() {
  TORCH_CHECK(is_captured_, backend_name(), ": instantiate() without a successful capture before");
  TORCH_CHECK(!is_instantiated_, backend_name(), ": the graph was instantiated already");
  graph_->instantiate();
  is_instantiated_ = true;
}

void device_graph::replay() {
  TORCH_CHECK(is_captured_, backend_name(), ": replay() without a successful capture before");
  if (!is_instantiated_) instantiate();
  const c10::Stream stream = current_stream(device_);
  if (const auto open = capture_of(stream)) {
    refuse_in_capture(open.get(), "a graph cannot be replayed on a stream that is captured");
  }
  host_program::release_finished();
  if (program_ == nullptr) return graph_->launch(stream);
  // Before the launch: its first callback takes the positions that this call prepares.
  program_->prepare_launch();
  try {
    graph_->launch(stream);
  } catch (...) {
    program_->cancel_launch();
    throw;
  }
}

void device_graph::reset() {
  TORCH_CHECK(open_ == nullptr, backend_name(), ": reset() of a graph that is being captured");
  graph_.reset();
  host_program::release(std::exchange(program_, nullptr));
  if (device_ >= 0) cache_of(device_).end_pool_use(pool_);
  device_ = -1;
  pool_ = {0, 0};
  is_captured_ = is_instantiated_ = false;
}

c10::MempoolId_t device_graph::pool() const {
  TORCH_CHECK(device_ >= 0, backend_name(),
              ": pool() before a capture has begun: the graph has none");
  return pool_;
}

}  // namespace outback::core
