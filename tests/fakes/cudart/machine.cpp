#include "tests/fakes/cudart/machine.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tests/fakes/cudart/memory.hpp"

namespace fake_cuda {
namespace {

std::atomic<machine*> made_machine{nullptr};

executor::hooks hooks_of(machine& owner) {
  executor::hooks made;
  made.may_run = [&owner](const work& given) {
    device& on = *owner.devices[std::size_t(given.device)];
    const char* name = nullptr;
    if (given.what.kind == work_kind::copy) name = "@copy";
    if (given.what.kind == work_kind::fill) name = "@fill";
    if (given.what.kind == work_kind::host_function) name = "@host";
    if (given.what.kind == work_kind::kernel) name = "@kernel";
    if (name != nullptr) {
      if (const auto error = owner.faults.next(name)) on.lost = cudaError_t(*error);
    }
    return on.lost == cudaSuccess;
  };
  made.on_done = [&owner](const work& given) {
    owner.devices[std::size_t(given.device)]->pending.erase(given.number);
  };
  return made;
}

}  // namespace

machine::machine()
    : given(settings::from_environment()),
      violations(given.strict),
      runs(mutex,
           {.adversary = given.adversary, .serial_host_functions = given.serial_host_functions},
           hooks_of(*this)) {
  if (!faults.parse(given.faults)) {
    std::fprintf(stderr, "fake cuda: FAKE_CUDART_FAULTS=%s: expected entry_point:nth=error,...\n",
                 given.faults.c_str());
    std::_Exit(2);
  }
  if (given.record.empty()) return;
  if (!recorded.start("") || !recorded.keep_in(given.record.c_str())) {
    std::fprintf(stderr, "fake cuda: FAKE_CUDART_RECORD=%s: it cannot be written\n",
                 given.record.c_str());
    std::_Exit(2);
  }
}

machine& the_machine() {
  static machine& made = []() -> machine& {
    static machine* const leaked = new machine;
    made_machine.store(leaked);
    // A fork in the middle of a call would leave the child a lock that nobody opens.
    pthread_atfork([] { leaked->mutex.lock(); }, [] { leaked->mutex.unlock(); },
                   [] {
                     leaked->forked = leaked->driver_ready;
                     leaked->mutex.unlock();
                   });
    return *leaked;
  }();
  return made;
}

machine* machine_if_made() {
  return made_machine.load();
}

void machine::init_driver() {
  if (forked) throw failure(cudaErrorInitializationError);
  if (given.init_error != 0) throw failure(cudaError_t(given.init_error));
  if (!driver_ready) {
    driver_ready = true;
    for (const device_description& each : visible_devices(given)) {
      auto made = std::make_unique<device>();
      made->index = int(devices.size());
      made->described = each;
      devices.push_back(std::move(made));
    }
  }
  if (devices.empty()) throw failure(cudaErrorNoDevice);
}

device& machine::device_at(int index) {
  if (index < 0 || std::size_t(index) >= devices.size()) {
    throw refusal(cudaErrorInvalidDevice, "device " + std::to_string(index) + ": there are " +
                                              std::to_string(devices.size()));
  }
  return *devices[std::size_t(index)];
}

void machine::check_alive(const device& asked) const {
  if (asked.lost != cudaSuccess) throw failure(asked.lost);
}

void machine::wait_for(std::unique_lock<std::mutex>& lock, const work_ptr& awaited) {
  if (awaited != nullptr) runs.wait(lock, [&] { return awaited->done; });
}

void machine::wait_for_device(std::unique_lock<std::mutex>& lock, device& awaited) {
  const uint64_t end = runs.next_number();
  runs.wait(lock, [&] { return awaited.pending.empty() || *awaited.pending.begin() >= end; });
}

void machine::retain(device& held) {
  ++held.retained;
  if (held.memory == nullptr) held.memory = std::make_unique<arena>(held.described.memory);
  if (held.legacy == nullptr) {
    held.legacy = std::make_shared<stream>();
    held.legacy->device = held.index;
    held.legacy->legacy = true;
    held.legacy->own = false;
  }
}

void machine::release(std::unique_lock<std::mutex>& lock, device& held, const char* entry_point) {
  if (held.retained == 0) {
    throw refusal(cudaErrorDeviceUninitialized, "the primary context is not retained");
  }
  if (held.retained == 1) {
    if (const std::size_t objects = empty_context(lock, held)) {
      violations.add_misuse(entry_point, "the primary context of device " +
                                             std::to_string(held.index) + " goes with " +
                                             std::to_string(objects) + " objects in it");
    }
  }
  --held.retained;
}

std::size_t machine::empty_context(std::unique_lock<std::mutex>& lock, device& gone) {
  wait_for_device(lock, gone);
  std::size_t objects = 0;
  const auto sweep = [&](auto& table) {
    for (auto each = table.all().begin(); each != table.all().end();) {
      const auto handle = each->first;
      const bool here = each->second->device == gone.index;
      ++each;
      if (!here) continue;
      ++objects;
      table.erase(handle);
    }
  };
  sweep(streams);
  sweep(events);
  for (auto each = blocks.all().begin(); each != blocks.all().end();) {
    const block_ptr found = each->second;
    ++each;
    if (found->device != gone.index || found->on_host()) continue;
    ++objects;
    drop(*this, *found);
  }
  gone.lost = cudaSuccess;
  gone.peers.clear();
  return objects;
}

}  // namespace fake_cuda
