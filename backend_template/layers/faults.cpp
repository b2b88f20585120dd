// The layer in which faults happen; what it promises is told in outback/layers.hpp.
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/fault_rules.hpp"
#include "backend_template/layers/fork_mutex.hpp"
#include "backend_template/layers/layer.hpp"
#include "backend_template/layers/make.hpp"
#include "backend_template/layers/text.hpp"
#include "outback/layers.hpp"

namespace outback::layers {
namespace {

class injector : public layer<injector> {
 public:
  injector(const outback_runtime& below, const std::vector<fault>& faults) : layer(below) {
    set(faults);
  }

  void set(const std::vector<fault>& faults) {
    for (const fault& each : faults) check_fault(each);
    auto fresh = std::make_shared<rules>();
    for (const fault& each : faults) fresh->all.emplace_back(each);
    const std::lock_guard lock(mutex_);
    rules_ = std::move(fresh);
  }

  template <class Slot, class... Args>
  outback_status call(Args... args) {
    const any_call call = {slot_facts_of<Slot>, {args...}};
    const happening now = next(call);
    if (now.status == OUTBACK_OK) return below<Slot>(args...);
    if constexpr (std::is_same_v<Slot, slots::graph_end>) abandon_capture(args...);
    return answer(call, now);
  }

 private:
  // What happens in a call, which is one of those that a rule counts.
  struct happening {
    outback_status status = OUTBACK_OK;
    uint64_t number = 0;
    std::string text(const any_call& call) const {
      return std::string(call.slot.name) + ", call " + std::to_string(number);
    }
  };

  struct rule {
    explicit rule(const fault& given) : how(given), slot(slot_of(given)) {}
    bool counts(const slot_facts& called, const device_set& devices) const {
      if (slot != nullptr && slot != &called) return false;
      if (how.status == OUTBACK_DEVICE_LOST && devices.size() == 0) return false;
      return how.device == fault::any_device || devices.contains(how.device);
    }
    const fault how;
    const slot_facts* const slot;  // null: all of them
    std::atomic<uint64_t> calls{0};
  };

  struct rules {
    std::deque<rule> all;
    std::map<int32_t, std::string> lost;  // under mutex_: the call that lost it
    std::atomic<bool> any_lost{false};
  };

  // Counts the call, waits and loses devices as the rules say.
  happening next(const any_call& call) {
    const std::shared_ptr<rules> now = current();
    const device_set devices = devices_of(call);
    check_not_lost(*now, devices);

    const rule* failing = nullptr;
    happening made;
    std::chrono::nanoseconds delay{0};
    for (rule& each : now->all) {
      if (!each.counts(call.slot, devices)) continue;
      const uint64_t count = each.calls.fetch_add(1, std::memory_order_relaxed) + 1;
      if (!happens_at(each.how, count)) continue;
      delay += each.how.delay;
      if (failing != nullptr || each.how.status == OUTBACK_OK) continue;
      failing = &each;
      made = {each.how.status, count};
    }
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    if (made.status == OUTBACK_DEVICE_LOST) {
      const int32_t named = failing->how.device;
      lose(*now, named == fault::any_device ? stream_device(call) : named, made.text(call));
    }
    return made;
  }

  // Not of OUTBACK_OK.
  static outback_status answer(const any_call& call, const happening& now) {
    if (now.status == OUTBACK_NOT_READY) return now.status;
    throw runtime_error(now.status,
                        "injected fault: " + now.text(call) + ": " + status_name(now.status));
  }

  // A call of graphs.end that fails ends the capture all the same.
  void abandon_capture(int32_t device, outback_stream stream, outback_graph*) {
    outback_graph made = nullptr;
    if (below<slots::graph_end>(device, stream, &made) == OUTBACK_OK) {
      below<slots::graph_destroy>(device, made);
    }
  }

  std::shared_ptr<rules> current() {
    const std::lock_guard lock(mutex_);
    return rules_;
  }

  void check_not_lost(rules& now, const device_set& devices) {
    if (!now.any_lost.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    for (const int32_t device : devices) {
      if (const auto found = now.lost.find(device); found != now.lost.end()) {
        throw device_lost("injected fault: device " + std::to_string(device) + " is lost since " +
                          found->second);
      }
    }
  }

  void lose(rules& now, int32_t device, const std::string& call) {
    const std::lock_guard lock(mutex_);
    now.lost.try_emplace(device, call);
    now.any_lost.store(true, std::memory_order_release);
  }

  fork_mutex mutex_;
  std::shared_ptr<rules> rules_;
};

}  // namespace

const outback_runtime* inject(const outback_runtime* below, const std::vector<fault>& faults) {
  check_table(below);
  for (const fault& each : faults) check_fault(each);
  return (new injector(*below, faults))->table();
}

void set_faults(const outback_runtime* injected, const std::vector<fault>& faults) {
  injector* found = injector::of(injected);
  if (found == nullptr) throw invalid_argument("set_faults: this is no table of inject()");
  found->set(faults);
}

}  // namespace outback::layers
