// The layer in which faults happen; what it promises is told in outback/layers.hpp.
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
    const std::shared_ptr<rules> now = current();
    const std::set<int32_t> devices = devices_of<Slot>(args...);
    check_not_lost(*now, devices);

    const rule* failing = nullptr;
    uint64_t number = 0;
    std::chrono::nanoseconds delay{0};
    for (rule& each : now->all) {
      if (!each.counts(Slot::name, Slot::other_name, devices)) continue;
      const uint64_t count = each.calls.fetch_add(1, std::memory_order_relaxed) + 1;
      if (!happens_at(each.how, count)) continue;
      delay += each.how.delay;
      if (failing == nullptr && each.how.status != OUTBACK_OK) failing = &each, number = count;
    }
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    if (failing == nullptr) return below<Slot>(args...);

    const outback_status status = failing->how.status;
    if (status == OUTBACK_NOT_READY) return status;
    const std::string call = std::string(Slot::name) + ", call " + std::to_string(number);
    if (status == OUTBACK_DEVICE_LOST) {
      const int32_t named = failing->how.device;
      lose(*now, named == fault::any_device ? stream_device<Slot>(args...) : named, call);
    }
    if constexpr (std::is_same_v<Slot, slots::graph_end>) abandon_capture(args...);
    throw runtime_error(status, "injected fault: " + call + ": " + status_name(status));
  }

 private:
  struct rule {
    explicit rule(const fault& given) : how(given) {}
    bool counts(const char* name, const char* other_name, const std::set<int32_t>& devices) const {
      if (how.slot != "*" && how.slot != name && how.slot != other_name) return false;
      if (how.status == OUTBACK_DEVICE_LOST && devices.empty()) return false;
      return how.device == fault::any_device || devices.contains(how.device);
    }
    const fault how;
    std::atomic<uint64_t> calls{0};
  };

  struct rules {
    std::deque<rule> all;
    std::map<int32_t, std::string> lost;  // under mutex_: the call that lost it
    std::atomic<bool> any_lost{false};
  };

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
