#include "backend_template/ops/report/call_log.h"

#include <c10/util/hash.h>

#include <set>

namespace outback::ops {
namespace {

// Leaked: threads may end after everything else.
struct logs {
  std::mutex mutex;
  std::set<call_log*> of_threads;
  logged_calls of_gone_threads;
};
logs& logs_of_all() {
  static auto& kept = *new logs;
  return kept;
}

size_t hash_of(const std::vector<int64_t>& numbers) {
  size_t hash = numbers.size();
  for (const int64_t number : numbers) hash = c10::hash_combine(hash, static_cast<size_t>(number));
  return hash;
}

size_t hash_of(const formula_argument& argument) {
  if (const auto* const numbers = std::get_if<std::vector<int64_t>>(&argument)) {
    return hash_of(*numbers);
  }
  if (const auto* const flags = std::get_if<std::vector<bool>>(&argument)) {
    return std::hash<std::vector<bool>>()(*flags);
  }
  if (const auto* const flag = std::get_if<bool>(&argument)) return *flag ? 3 : 2;
  if (const auto* const number = std::get_if<int64_t>(&argument)) {
    return std::hash<int64_t>()(*number);
  }
  if (const auto* const number = std::get_if<double>(&argument)) {
    return std::hash<double>()(*number);
  }
  return 1;
}

}  // namespace

size_t formula_arguments::hash() const {
  size_t hash = arguments.size();
  for (const formula_argument& each : arguments) hash = c10::hash_combine(hash, hash_of(each));
  for (const auto& each : results) hash = c10::hash_combine(hash, hash_of(each));
  return hash == 0 ? 1 : hash;
}

void call_totals::add(const call_totals& other) {
  calls += other.calls;
  total_ns += other.total_ns;
  own_ns += other.own_ns;
  tensor_bytes += other.tensor_bytes;
  notes.bytes_to_host += other.notes.bytes_to_host;
  notes.bytes_to_device += other.notes.bytes_to_device;
  notes.bytes_on_devices += other.notes.bytes_on_devices;
  notes.copies += other.notes.copies;
  notes.waits += other.notes.waits;
  notes.waited_ns += other.notes.waited_ns;
}

void logged_calls::add(const logged_calls& other) {
  for (const auto& [key, added] : other.totals) totals[key].add(added);
  arguments.insert(other.arguments.begin(), other.arguments.end());
}

call_log::call_log() {
  const std::lock_guard<std::mutex> lock(logs_of_all().mutex);
  logs_of_all().of_threads.insert(this);
}

call_log::~call_log() {
  const std::lock_guard<std::mutex> lock(logs_of_all().mutex);
  logs_of_all().of_threads.erase(this);
  copy_to(logs_of_all().of_gone_threads);
}

void call_log::add(const call_key& key, const call_totals& totals,
                   const formula_arguments& arguments) {
  const std::lock_guard<std::mutex> lock(mutex_);
  totals_[key].add(totals);
  if (key.arguments != 0) arguments_.try_emplace(key.arguments, arguments);
}

void call_log::copy_to(logged_calls& to) {
  for (const auto& [key, added] : totals_) to.totals[key].add(added);
  to.arguments.insert(arguments_.begin(), arguments_.end());
}

logged_calls all_logged_calls() {
  const std::lock_guard<std::mutex> lock(logs_of_all().mutex);
  logged_calls found = logs_of_all().of_gone_threads;
  for (call_log* const log : logs_of_all().of_threads) {
    const std::lock_guard<std::mutex> lock_of_thread(log->mutex_);
    log->copy_to(found);
  }
  return found;
}

void clear_logged_calls() {
  const std::lock_guard<std::mutex> lock(logs_of_all().mutex);
  logs_of_all().of_gone_threads = {};
  for (call_log* const log : logs_of_all().of_threads) {
    const std::lock_guard<std::mutex> lock_of_thread(log->mutex_);
    log->totals_.clear();
    log->arguments_.clear();
  }
}

}  // namespace outback::ops
