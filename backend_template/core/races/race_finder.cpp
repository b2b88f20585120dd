#include "backend_template/core/races/race_finder.h"

#include <algorithm>
#include <exception>
#include <iterator>

#include "backend_template/core/runtime/environment.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

uint64_t at(const race_clock& clock, size_t agent) {
  return agent < clock.size() ? clock[agent] : 0;
}

void raise(race_clock& clock, size_t agent, uint64_t number) {
  if (clock.size() <= agent) clock.resize(agent + 1);
  clock[agent] = std::max(clock[agent], number);
}

void join(race_clock& clock, const race_clock& other) {
  for (size_t agent = 0; agent < other.size(); ++agent) raise(clock, agent, other[agent]);
}

uintptr_t address_of(const void* data) {
  return reinterpret_cast<uintptr_t>(data);
}

std::atomic<bool> are_wanted{false};

}  // namespace

void read_race_variable() {
  are_wanted = from_environment(
      [] { return outback::detail::flag_variable("OUTBACK_SANITIZER").value_or(false); });
}

bool are_races_wanted() noexcept {
  return are_wanted;
}

size_t race_finder::agent_of(const c10::Stream& stream) {
  const stream_key key{stream.device_index(), stream.id()};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  }
  void* const native = native_stream_of_(stream);
  const std::lock_guard lock(mutex_);
  // A stream of the driver has two ids, if somebody made an external stream of it.
  size_t number = 0;
  for (; number < agents_.size(); ++number) {
    const agent& each = agents_[number];
    if (native != nullptr && each.native == native &&
        each.stream.device_index() == stream.device_index()) {
      break;
    }
  }
  const auto [place, is_new] = numbers_.try_emplace(key, number);
  if (is_new && number == agents_.size()) agents_.push_back({stream, native, {}});
  return place->second;
}

bool race_finder::is_over(const past_access& earlier, const race_clock& known) const {
  return earlier.number <= at(known, earlier.agent);
}

race race_finder::race_with(const past_access& earlier) const {
  return {earlier.number, earlier.wrote, agents_[earlier.agent].stream};
}

// ---- Operators

race_finder::running race_finder::begin(const c10::Stream& stream) {
  const size_t number = agent_of(stream);
  const std::lock_guard lock(mutex_);
  agent& on = agents_[number];
  join(on.known, host_);
  raise(on.known, number, ++last_);
  return {last_, number};
}

std::vector<race> race_finder::races_with(const std::vector<past_access>& earlier,
                                          const footprint& bytes, bool writes,
                                          const race_clock& known, uint64_t number) const {
  std::vector<race> found;
  for (const past_access& each : earlier) {
    if (each.number == number || !(writes || each.wrote) || is_over(each, known)) continue;
    if (overlap(each.bytes, bytes)) found.push_back(race_with(each));
  }
  return found;
}

std::vector<race_finder::past_access>& race_finder::accesses_of(const at::TensorBase& tensor) {
  const c10::Storage& storage = tensor.storage();
  if (tensor.is_cpu()) {
    host_memory& found = host_memory_[storage.unsafeGetStorageImpl()];
    // Another storage at the same place: the memory of the one before has been freed.
    if (!found.storage || found.storage->expired()) found = {storage.getWeakStorageImpl(), {}};
    return found.accesses;
  }
  return memory_[address_of(storage.data())].accesses;
}

std::vector<race> race_finder::access(running now, const at::TensorBase& tensor, bool writes) {
  footprint bytes = footprint::of(tensor);
  if (bytes.is_empty()) return {};
  const std::lock_guard lock(mutex_);
  std::vector<past_access>& accesses = accesses_of(tensor);
  std::vector<race> found =
      races_with(accesses, bytes, writes, agents_[now.agent].known, now.number);
  // What comes later is compared with this access, and need not be with those that it covers: a
  // write comes behind all, a read behind the reads of its stream.
  std::erase_if(accesses, [&](const past_access& each) {
    const bool is_behind = writes || (!each.wrote && each.agent == now.agent);
    return is_behind && each.number != now.number && bytes.covers(each.bytes);
  });
  accesses.push_back({std::move(bytes), writes, now.agent, now.number});
  return found;
}

void race_finder::withdraw(running now) {
  const std::lock_guard lock(mutex_);
  const auto withdraw_from = [&](std::vector<past_access>& all) {
    std::erase_if(all, [&](const past_access& each) { return each.number == now.number; });
  };
  for (auto& [begin, of_device] : memory_) withdraw_from(of_device.accesses);
  for (auto& [storage, of_host] : host_memory_) withdraw_from(of_host.accesses);
}

std::vector<race> race_finder::access_by_host(const at::TensorBase& tensor, bool writes) {
  const std::lock_guard lock(mutex_);
  if (host_memory_.empty()) return {};
  const auto place = host_memory_.find(tensor.storage().unsafeGetStorageImpl());
  if (place == host_memory_.end()) return {};
  if (place->second.storage->expired()) {
    host_memory_.erase(place);
    return {};
  }
  std::vector<past_access>& accesses = place->second.accesses;
  std::vector<race> found = races_with(accesses, footprint::of(tensor), writes, host_, 0);
  std::erase_if(accesses, [&](const past_access& each) { return is_over(each, host_); });
  if (accesses.empty()) host_memory_.erase(place);
  return found;
}

std::vector<race> race_finder::take_freed() {
  const std::lock_guard lock(mutex_);
  std::vector<race> found;
  for (const past_access& each : found_) found.push_back(race_with(each));
  found_.clear();
  return found;
}

std::set<uint64_t> race_finder::remembered() const {
  const std::lock_guard lock(mutex_);
  std::set<uint64_t> numbers;
  const auto add = [&](const std::vector<past_access>& all) {
    for (const past_access& each : all) numbers.insert(each.number);
  };
  for (const auto& [begin, of_device] : memory_) add(of_device.accesses);
  for (const auto& [storage, of_host] : host_memory_) add(of_host.accesses);
  for (const freed_use& each : freed_) numbers.insert(each.use.number);
  add(found_);
  return numbers;
}

// ---- What orders them

std::shared_ptr<const race_clock> race_finder::record(const c10::Stream& stream) {
  const size_t number = agent_of(stream);
  const std::lock_guard lock(mutex_);
  agent& on = agents_[number];
  join(on.known, host_);
  return std::make_shared<const race_clock>(on.known);
}

void race_finder::wait(const c10::Stream& stream, const race_clock& recorded) {
  const size_t number = agent_of(stream);
  const std::lock_guard lock(mutex_);
  join(agents_[number].known, recorded);
}

void race_finder::host_wait(const race_clock& recorded) {
  const std::lock_guard lock(mutex_);
  join(host_, recorded);
}

void race_finder::host_wait(const c10::Stream& stream) {
  const size_t number = agent_of(stream);
  const std::lock_guard lock(mutex_);
  join(host_, agents_[number].known);
}

void race_finder::host_wait(c10::DeviceIndex device) {
  const std::lock_guard lock(mutex_);
  for (const agent& each : agents_) {
    if (each.stream.device_index() == device) join(host_, each.known);
  }
}

// ---- Memory

void race_finder::keep_for(const void* data, const c10::Stream& stream) {
  const size_t number = agent_of(stream);
  const std::lock_guard lock(mutex_);
  memory_[address_of(data)].kept_for.insert(number);
}

void race_finder::forget(const void* data, const c10::Stream* allocated_for) {
  const size_t home = allocated_for == nullptr ? 0 : agent_of(*allocated_for);
  const std::lock_guard lock(mutex_);
  const auto place = memory_.find(address_of(data));
  if (place == memory_.end()) return;
  const memory gone = std::move(place->second);
  memory_.erase(place);
  if (allocated_for == nullptr) return;
  for (const past_access& each : gone.accesses) {
    const freed_use use{each, home};
    if (each.agent != home && !gone.kept_for.contains(each.agent) && !is_freed_use_over(use)) {
      freed_.push_back(use);
    }
  }
}

bool race_finder::is_freed_use_over(const freed_use& freed) const {
  return is_over(freed.use, host_) || is_over(freed.use, agents_[freed.allocated_for].known);
}

void race_finder::freed(const void* data, const c10::Stream& stream) noexcept {
  try {
    forget(data, &stream);
  } catch (const std::exception&) {
    warn(backend_name(), ": the race finder has lost sight of freed memory: ", handled_text());
  }
}

void race_finder::freed(const void* data) noexcept {
  try {
    forget(data, nullptr);
  } catch (const std::exception&) {
    warn(backend_name(), ": the race finder has lost sight of freed memory: ", handled_text());
  }
}

void race_finder::allocated(const c10::Stream& stream) noexcept {
  try {
    const size_t number = agent_of(stream);
    const std::lock_guard lock(mutex_);
    std::erase_if(freed_, [&](const freed_use& each) {
      if (each.allocated_for != number) return false;
      if (!is_freed_use_over(each)) found_.push_back(each.use);
      return true;
    });
  } catch (const std::exception&) {
    warn(backend_name(), ": the race finder has lost sight of freed memory: ", handled_text());
  }
}

}  // namespace outback::core
