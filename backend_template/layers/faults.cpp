// The layer that makes calls fail, wait, or lose their device. outback/layers.hpp says what it
// promises.
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/fault_rules.hpp"
#include "backend_template/layers/fork_mutex.hpp"
#include "backend_template/layers/layer.hpp"
#include "backend_template/layers/text.hpp"
#include "outback/layers.hpp"

namespace outback::layers {
namespace {

class injector : public layer<injector> {
 public:
  injector(const outback_runtime& below, const std::vector<fault>& faults) : layer(below) {
    set(faults);
  }

  // Calls that have begun go on with the rules that they found, which `rules_` shares with them.
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
    // The contract: a graphs.end that fails ends the capture. The runtime must hear of it.
    if constexpr (std::is_same_v<Slot, slots::graph_end>) abandon_capture(args...);
    return answer(call, now);
  }

 private:
  // What happens in one call. `number` is the call's number for the rule that sets the status.
  struct happening {
    outback_status status = OUTBACK_OK;
    uint64_t number = 0;
    std::string text(const any_call& call) const {
      return std::string(call.slot.name) + ", call " + std::to_string(number);
    }
  };

  // One fault and how many calls it has counted.
  struct rule {
    explicit rule(const fault& given) : how(given), slot(slot_of(given)) {}
    bool counts(const slot_facts& called, const std::set<int32_t>& devices) const {
      if (slot != nullptr && slot != &called) return false;
      // Only a call that names a device can lose one; with "*" there are others.
      if (how.status == OUTBACK_DEVICE_LOST && devices.empty()) return false;
      return how.device == fault::any_device || devices.contains(how.device);
    }
    const fault how;
    const slot_facts* const slot;  // null: all slots
    std::atomic<uint64_t> calls{0};
  };

  // The rules of one `set`, with the devices that they have lost. A deque, since a rule has an
  // atomic and cannot be moved.
  struct rules {
    std::deque<rule> all;
    std::map<int32_t, std::string> lost;  // guarded by mutex_: the call that lost the device
    std::atomic<bool> any_lost{false};
  };

  // Counts the call for each rule, sleeps, and marks a device as lost, as the rules say. Holds no
  // lock while it sleeps.
  happening next(const any_call& call) {
    const std::shared_ptr<rules> now = current();
    const std::set<int32_t> devices = devices_of(call);
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

  // The answer of a call that the runtime does not get. NOT_READY is no failure and has no text.
  static outback_status answer(const any_call& call, const happening& now) {
    if (now.status == OUTBACK_NOT_READY) return now.status;
    throw runtime_error(now.status,
                        "injected fault: " + now.text(call) + ": " + status_name(now.status));
  }

  // Ends the capture in the runtime and throws its graph away.
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

  void check_not_lost(rules& now, const std::set<int32_t>& devices) {
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

  fork_mutex mutex_;  // guards rules_ and the maps `lost`
  std::shared_ptr<rules> rules_;
};

}  // namespace

const outback_runtime* inject(const outback_runtime* below, const std::vector<fault>& faults) {
  check_table(below);
  return (new injector(*below, faults))->table();
}

void set_faults(const outback_runtime* injected, const std::vector<fault>& faults) {
  injector* found = injector::of(injected);
  if (found == nullptr) throw invalid_argument("set_faults: this is no table of inject()");
  found->set(faults);
}

}  // namespace outback::layers
