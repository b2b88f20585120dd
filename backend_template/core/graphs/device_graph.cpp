#include "backend_template/core/graphs/device_graph.h"

#include <c10/util/Exception.h>

#include <exception>
#include <utility>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/graphs/recording.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/kernel_faults.h"
#include "backend_template/core/streams/observed.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

// In a forked child the handles are the parent's, and the locks may be held for ever.
void refuse_in_forked_child() {
  if (is_in_bad_fork()) ensure_started();
}

}  // namespace

void refuse_graph_description() {
  TORCH_CHECK_NOT_IMPLEMENTED(false, backend_name(),
                              ": what is in a graph cannot be told: the runtime's group graphs has "
                              "no slot that describes one");
}

device_graph::~device_graph() {
  // What the program and the capture hold is leaked, so that no destructor of theirs runs.
  if (is_in_bad_fork()) {
    static_cast<void>(new std::shared_ptr<host_program>(std::move(program_)));
    static_cast<void>(open_.release());
    return;
  }
  abandon_capture();
  reset();
}

void device_graph::capture_begin(c10::MempoolId_t pool) {
  TORCH_CHECK(!is_captured_ && open_ == nullptr, backend_name(),
              ": this graph holds a capture already: reset() it first, or use a new one");
  ensure_started();
  const c10::Stream stream = current_stream(-1);
  const auto twin = twin_of(stream.device_index());
  TORCH_CHECK_NOT_IMPLEMENTED(!twin, backend_name(),
                              ": work on this device is captured in a graph ", "of ", *twin,
                              ", whose streams and memory it shares");
  if (runtime().graphs == nullptr) refuse_absent("graphs", "capturing work in a graph");
  TORCH_CHECK(stream.id() != 0, backend_name(),
              ": graphs are captured on a stream that is not the default one: make another one "
              "current first. (They are replayed on any.)");
  if (const auto outer = capture_of(stream)) {
    refuse_in_capture(nullptr, "another capture cannot begin on the same stream");
  }
  host_program::release_finished();
  const c10::DeviceIndex device = stream.device_index();
  const bool records = operator_recorder() != nullptr && records_host_operators(device);
  if (records) {
    // CPU operators compute while they are recorded, so the stream's earlier work has to be done.
    synchronize_stream(stream);
    operator_recorder()();
  }
  const bool has_pool = pool != c10::MempoolId_t{0, 0};
  const auto held = std::make_shared<graph_pool>(has_pool ? pool : new_pool_id());
  held->hold(device);
  pool_ = held;
  host_memory_ = std::make_shared<held_host_memory>();
  device_ = device;
  capturing_thread_ = std::this_thread::get_id();
  try {
    if (records) program_ = std::make_shared<host_program>(device);
    // Before the runtime's capture begins: from then on an event that is recorded on the stream
    // says nothing of its work, and another thread that frees memory has to know that.
    open_ = std::make_unique<open_capture>(std::make_shared<capture>(
        capture::properties{.first = stream,
                            .pool = held->id(),
                            .pool_is_fresh = !has_pool,
                            .program = program_,
                            .recorded_by = records ? enter_recorder() : 0,
                            .hold_pool = [held](c10::DeviceIndex other) { held->hold(other); },
                            .pool_owner = held,
                            .host_memory = host_memory_}));
    check(runtime().graphs->begin(runtime().self, device, handle_of(stream)), "graphs.begin",
          device);
    has_begun_ = true;
    // The stream is not idle until it has left the capture: whoever would wait for it is refused.
    // After the begin: a wait that came before it does not count this as done.
    mark_busy(stream);
    if (records) program_->begin(stream);
  } catch (...) {
    drop_capture();
    throw;
  }
}

// Puts everything back that the capture changed, after the runtime's capture has ended or could not
// begin.
void device_graph::close() noexcept {
  const std::shared_ptr<capture> closing = open_ == nullptr ? nullptr : **open_;
  open_.reset();
  leave_recorder_if_over();
  if (closing != nullptr) closing->rollback().roll_back();
  if (program_ != nullptr) program_->rewind_generators();
}

// Ends the runtime's capture, if it is open. The statuses are ignored here and in `reset`:
// destructors call both, and cannot report them.
void device_graph::end_quietly() noexcept {
  if (!std::exchange(has_begun_, false)) return;
  runtime().graphs->end(runtime().self, device_, handle_of((*open_)->stream()), &handle_);
}

void device_graph::drop_capture() noexcept {
  if (is_in_bad_fork()) return;
  end_quietly();
  close();
  reset();
}

void device_graph::capture_end() {
  refuse_in_forked_child();
  TORCH_CHECK(open_ != nullptr, backend_name(), ": capture_end() without a capture_begin() before");
  TORCH_CHECK(capturing_thread_ == std::this_thread::get_id(), backend_name(),
              ": a capture ends on the thread that it began on");
  TORCH_CHECK(current_stream(device_) == (*open_)->stream(), backend_name(),
              ": a capture ends on the stream that it began on, which is ", (*open_)->stream(),
              ": the current one is ", current_stream(device_));
  // The runtime's capture has to be ended in any case, so failures are thrown afterwards.
  std::string problem = (*open_)->problem();
  std::exception_ptr failed;
  try {
    if (program_ != nullptr && problem.empty()) program_->end((*open_)->stream());
    // Before the slot: by the contract it ends the capture also where it fails.
    has_begun_ = false;
    check(runtime().graphs->end(runtime().self, device_, handle_of((*open_)->stream()), &handle_),
          "graphs.end", device_);
    check_made(handle_, "graph", "graphs.end", device_);
  } catch (...) {
    failed = std::current_exception();
    end_quietly();
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
  if (open_ != nullptr) drop_capture();
}

void device_graph::instantiate() {
  refuse_in_forked_child();
  TORCH_CHECK(is_captured_, backend_name(), ": instantiate() without a successful capture before");
  TORCH_CHECK(!is_instantiated_, backend_name(), ": the graph was instantiated already");
  check(runtime().graphs->instantiate(runtime().self, device_, handle_), "graphs.instantiate",
        device_);
  is_instantiated_ = true;
}

void device_graph::replay() {
  TORCH_CHECK(is_captured_, backend_name(), ": replay() without a successful capture before");
  refuse_in_forked_child();
  if (!is_instantiated_) instantiate();
  const c10::Stream stream = current_stream(device_);
  if (const auto open = capture_of(stream)) {
    refuse_in_capture(open.get(), "a graph cannot be replayed on a stream that is captured");
  }
  host_program::release_finished();
  host_memory_->used_on(stream);
  observed_work launched(work::graph, stream);
  watch_replay(stream);
  // Before the launch: its first callback takes the positions that this call prepares.
  if (program_ != nullptr) program_->prepare_launch();
  try {
    check(runtime().graphs->launch(runtime().self, device_, handle_, launched.handle()),
          "graphs.launch", device_);
  } catch (...) {
    if (program_ != nullptr) program_->cancel_launch();
    throw;
  }
  launched.enqueued();
  watch_replay(stream);  // again, since another thread may have waited before the launch
}

void device_graph::reset() {
  if (is_in_bad_fork()) return;
  TORCH_CHECK(open_ == nullptr, backend_name(), ": reset() of a graph that is being captured");
  if (handle_ != nullptr) runtime().graphs->destroy(runtime().self, device_, handle_);
  handle_ = nullptr;
  host_program::release(std::exchange(program_, nullptr));
  pool_.reset();
  host_memory_.reset();
  device_ = -1;
  is_captured_ = is_instantiated_ = false;
}

c10::MempoolId_t device_graph::pool() const {
  TORCH_CHECK(pool_ != nullptr, backend_name(),
              ": pool() before a capture has begun: the graph has none");
  return pool_->id();
}

}  // namespace outback::core
