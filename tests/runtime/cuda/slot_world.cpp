#include <cstdlib>
#include <stdexcept>

#include "tests/runtime/cuda/every_slot.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

slot_world::slot_world()
    : runtime_((fake(), std::make_unique<cuda_runtime>())),
      table_(*table_of(*runtime_)),
      pages_(static_cast<std::byte*>(std::aligned_alloc(page, 2 * page)), std::free) {
  const outback_runtime& table = t();
  check(table.mem_alloc(self(), device, size, &memory), "mem_alloc");
  check(table.mem_alloc(self(), peer, size, &memory_of_peer), "mem_alloc");
  check(table.host_memory->alloc(self(), size, &pinned), "host_memory.alloc");
  foreign = pages_.get();
  check(table.host_registration->add(self(), foreign + page, page), "host_registration.add");
  registered_second = true;
  check(table.streams->create(self(), device, 0, &stream), "streams.create");
  check(table.streams->create(self(), device, 0, &capturing), "streams.create");
  for (outback_event* event : {&first, &last}) {
    check(table.events->create(self(), device, OUTBACK_EVENT_TIMING, event), "events.create");
    check(table.events->record(self(), device, *event, stream), "events.record");
  }
  check(table.events->create(self(), device, OUTBACK_EVENT_INTERPROCESS, &shared), "events.create");
  fresh = empty_graph();
  ready = empty_graph();
  check(table.graphs->instantiate(self(), device, ready), "graphs.instantiate");
  check(table.kernels->module_load(self(), device, OUTBACK_FORMAT_PTX, ptx.data(), ptx.size(),
                                   &module),
        "kernels.module_load");
  check(table.kernels->kernel(self(), device, module, "first", &kernel), "kernels.kernel");
  check(table.streams->sync(self(), device, stream), "streams.sync");
  check(table.streams->sync(self(), device, nullptr), "streams.sync");
}

slot_world::~slot_world() {
  const outback_runtime& table = t();
  table.peer->disable(self(), device, peer);
  if (captures) table.graphs->end(self(), device, capturing, &made_graph);
  for (const outback_graph graph : {fresh, ready, made_graph}) {
    if (graph != nullptr) table.graphs->destroy(self(), device, graph);
  }
  for (const outback_event event : {first, last, shared, made_event}) {
    if (event != nullptr) table.events->destroy(self(), device, event);
  }
  for (const outback_module each : {module, made_module}) {
    if (each != nullptr) table.kernels->module_unload(self(), device, each);
  }
  table.device_sync(self(), device);
  for (const outback_stream each : {wrapped, stream, made_stream, capturing}) {
    if (each != nullptr) table.streams->destroy(self(), device, each);
  }
  if (registered_first) table.host_registration->remove(self(), foreign);
  if (registered_second) table.host_registration->remove(self(), foreign + page);
  for (void* host : {pinned, made_pinned}) table.host_memory->free(self(), host);
  for (void* ptr : {memory, made_memory}) table.mem_free(self(), device, ptr);
  table.mem_free(self(), peer, memory_of_peer);
}

void slot_world::check(outback_status status, const char* what) const {
  if (status == OUTBACK_OK) return;
  throw std::runtime_error(std::string(what) + ": " + t().last_error(self()));
}

outback_graph slot_world::empty_graph() {
  outback_graph graph = nullptr;
  check(t().graphs->begin(self(), device, stream), "graphs.begin");
  check(t().graphs->end(self(), device, stream, &graph), "graphs.end");
  return graph;
}

}  // namespace outback::cuda
