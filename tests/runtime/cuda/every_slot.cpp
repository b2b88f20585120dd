#include "tests/runtime/cuda/every_slot.hpp"

#include <cctype>
#include <utility>

#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using world = slot_world;
constexpr int32_t d = slot_world::device, peer = slot_world::peer;
constexpr std::size_t size = slot_world::size;

// What is destroyed is gone, also where the answer is an error of earlier work; the handle is the
// caller's still only where the call was refused before it came to that.
template <class Handle, class Call>
outback_status destroying(Handle& handle, const Call& destroy) {
  const int before = fake().live(nullptr);
  const Handle given = std::exchange(handle, nullptr);
  const outback_status status = destroy(given);
  if (fake().live(nullptr) == before) handle = given;
  return status;
}

std::vector<slot_case> required_slots() {
  return {
      {"device_count",
       [](world& w) {
         int32_t count = 0;
         return w.t().device_count(w.self(), &count);
       },
       true},
      {"device_info",
       [](world& w) {
         outback_device_info info = {};
         info.struct_size = sizeof(info);
         return w.t().device_info(w.self(), d, &info);
       },
       true},
      {"device_sync", [](world& w) { return w.t().device_sync(w.self(), d); }},
      {"mem_alloc", [](world& w) { return w.t().mem_alloc(w.self(), d, size, &w.made_memory); }},
      {"mem_free",
       [](world& w) {
         return destroying(w.memory, [&](auto gone) { return w.t().mem_free(w.self(), d, gone); });
       }},
      {"mem_copy to the device",
       [](world& w) {
         return w.t().mem_copy(w.self(), w.memory, d, w.pinned, OUTBACK_HOST, size, w.stream);
       }},
      {"mem_copy from the device, to pageable memory",
       [](world& w) {
         std::vector<std::byte> host(size);
         return w.t().mem_copy(w.self(), host.data(), OUTBACK_HOST, w.memory, d, size, nullptr);
       }},
      {"mem_copy to another device",
       [](world& w) {
         return w.t().mem_copy(w.self(), w.memory_of_peer, peer, w.memory, d, size, w.stream);
       }},
      {"mem_copy on the device",
       [](world& w) {
         auto* const to = static_cast<std::byte*>(w.memory) + size / 2;
         return w.t().mem_copy(w.self(), to, d, w.memory, d, size / 2, w.stream);
       }},
      {"mem_fill with one byte",
       [](world& w) { return w.t().mem_fill(w.self(), d, w.memory, size, "1", 1, w.stream); }},
      {"mem_fill with two bytes",
       [](world& w) { return w.t().mem_fill(w.self(), d, w.memory, size, "12", 2, w.stream); }},
      {"mem_fill with four bytes",
       [](world& w) { return w.t().mem_fill(w.self(), d, w.memory, size, "1234", 4, w.stream); }},
      {"mem_fill with eight bytes",
       [](world& w) {
         return w.t().mem_fill(w.self(), d, w.memory, size, "12345678", 8, nullptr);
       }},
      {"mem_fill with four bytes at an odd place",
       [](world& w) {
         auto* const to = static_cast<std::byte*>(w.memory) + 1;
         return w.t().mem_fill(w.self(), d, to, 64, "1234", 4, w.stream);
       }},
  };
}

std::vector<slot_case> stream_slots() {
  return {
      {"streams.create",
       [](world& w) { return w.t().streams->create(w.self(), d, -1, &w.made_stream); }},
      {"streams.destroy",
       [](world& w) {
         return destroying(w.stream,
                           [&](auto gone) { return w.t().streams->destroy(w.self(), d, gone); });
       }},
      {"streams.query", [](world& w) { return w.t().streams->query(w.self(), d, w.stream); }},
      {"streams.sync", [](world& w) { return w.t().streams->sync(w.self(), d, w.stream); }},
      {"streams.sync of the default stream",
       [](world& w) { return w.t().streams->sync(w.self(), d, nullptr); }},
      {"streams.priorities",
       [](world& w) {
         int32_t least = 0, greatest = 0;
         return w.t().streams->priorities(w.self(), d, &least, &greatest);
       }},
      {"callbacks.enqueue",
       [](world& w) {
         return w.t().callbacks->enqueue(w.self(), d, [](void*) {}, nullptr, w.stream);
       }},
  };
}

std::vector<slot_case> event_slots() {
  return {
      {"events.create",
       [](world& w) { return w.t().events->create(w.self(), d, 0, &w.made_event); }},
      {"events.destroy",
       [](world& w) {
         return destroying(w.first,
                           [&](auto gone) { return w.t().events->destroy(w.self(), d, gone); });
       }},
      {"events.record",
       [](world& w) { return w.t().events->record(w.self(), d, w.first, w.stream); }},
      {"events.wait", [](world& w) { return w.t().events->wait(w.self(), d, w.first, nullptr); }},
      {"events.query", [](world& w) { return w.t().events->query(w.self(), d, w.first); }},
      {"events.sync", [](world& w) { return w.t().events->sync(w.self(), d, w.first); }},
      {"events.elapsed",
       [](world& w) {
         int64_t ns = 0;
         return w.t().events->elapsed(w.self(), w.first, w.last, &ns);
       }},
  };
}

std::vector<slot_case> host_slots() {
  return {
      {"host_memory.alloc",
       [](world& w) { return w.t().host_memory->alloc(w.self(), size, &w.made_pinned); }},
      {"host_memory.free",
       [](world& w) {
         return destroying(w.pinned,
                           [&](auto gone) { return w.t().host_memory->free(w.self(), gone); });
       }},
      {"host_memory.info",
       [](world& w) {
         outback_pointer_info info = {};
         info.struct_size = sizeof(info);
         return w.t().host_memory->info(w.self(), w.memory, &info);
       },
       true},
      {"host_registration.add",
       [](world& w) {
         const outback_status status = w.t().host_registration->add(w.self(), w.foreign, 4096);
         w.registered_first = status == OUTBACK_OK;
         return status;
       }},
      {"host_registration.remove",
       [](world& w) {
         const outback_status status = w.t().host_registration->remove(w.self(), w.foreign + 4096);
         w.registered_second = fake().live("registrations") != 0;  // as `destroying`
         return status;
       }},
  };
}

std::vector<slot_case> device_slots() {
  return {
      {"device_state.is_active",
       [](world& w) {
         int32_t active = 0;
         return w.t().device_state->is_active(w.self(), d, &active);
       },
       true},
      {"device_state.memory_usage",
       [](world& w) {
         std::size_t free = 0, total = 0;
         return w.t().device_state->memory_usage(w.self(), d, &free, &total);
       }},
      {"peer.can_access",
       [](world& w) {
         int32_t can = 0;
         return w.t().peer->can_access(w.self(), d, peer, &can);
       },
       true},
      {"peer.enable", [](world& w) { return w.t().peer->enable(w.self(), d, peer); }},
      {"peer.disable",
       [](world& w) {
         if (const auto status = w.t().peer->enable(w.self(), d, peer)) return status;
         return w.t().peer->disable(w.self(), d, peer);
       }},
      {"native.device",
       [](world& w) {
         void* handle = nullptr;
         return w.t().native->device(w.self(), d, &handle);
       },
       true},
      {"native.context",
       [](world& w) {
         void* handle = nullptr;
         return w.t().native->context(w.self(), d, &handle);
       }},
      {"native.stream",
       [](world& w) {
         void* handle = nullptr;
         return w.t().native->stream(w.self(), d, nullptr, &handle);
       }},
      {"native.event",
       [](world& w) {
         void* handle = nullptr;
         return w.t().native->event(w.self(), d, w.first, &handle);
       },
       true},
      {"native.wrap_stream",
       [](world& w) {
         void* handle = nullptr;
         if (const auto status = w.t().native->stream(w.self(), d, w.stream, &handle))
           return status;
         return w.t().native->wrap_stream(w.self(), d, handle, &w.wrapped);
       }},
  };
}

std::vector<slot_case> ipc_slots() {
  const auto handle = [] {
    outback_ipc_handle empty = {};
    empty.struct_size = sizeof(empty);
    return empty;
  };
  return {
      {"ipc.get_memory",
       [=](world& w) {
         outback_ipc_handle made = handle();
         return w.t().ipc->get_memory(w.self(), d, w.memory, &made);
       }},
      {"ipc.get_event",
       [=](world& w) {
         outback_ipc_handle made = handle();
         return w.t().ipc->get_event(w.self(), d, w.shared, &made);
       }},
  };
}

std::vector<slot_case> graph_slots() {
  return {
      {"graphs.begin",
       [](world& w) {
         const outback_status status = w.t().graphs->begin(w.self(), d, w.capturing);
         w.captures = status == OUTBACK_OK;
         return status;
       }},
      {"graphs.status",
       [](world& w) {
         outback_capture status = 0;
         return w.t().graphs->status(w.self(), d, w.stream, &status);
       }},
      {"graphs.end",
       [](world& w) {
         if (const auto status = w.t().graphs->begin(w.self(), d, w.capturing)) return status;
         const outback_status status = w.t().graphs->end(w.self(), d, w.capturing, &w.made_graph);
         w.captures = status != OUTBACK_OK;
         return status;
       }},
      {"graphs.instantiate",
       [](world& w) { return w.t().graphs->instantiate(w.self(), d, w.fresh); }},
      {"graphs.launch",
       [](world& w) { return w.t().graphs->launch(w.self(), d, w.ready, w.stream); }},
      {"graphs.destroy",
       [](world& w) {
         return destroying(w.ready,
                           [&](auto gone) { return w.t().graphs->destroy(w.self(), d, gone); });
       }},
  };
}

outback_status launch(world& w, std::size_t local_size) {
  const outback_argument argument = {&w.memory, sizeof(w.memory), 1};
  outback_launch what = {};
  what.struct_size = sizeof(what);
  what.argument_count = 1;
  what.arguments = &argument;
  what.groups[0] = what.groups[1] = what.groups[2] = 1;
  what.items[0] = what.items[1] = what.items[2] = 1;
  what.local_size = local_size;
  return w.t().kernels->launch(w.self(), d, w.kernel, &what, w.stream);
}

std::vector<slot_case> kernel_slots() {
  return {
      {"kernels.formats",
       [](world& w) {
         outback_formats formats = {};
         formats.struct_size = sizeof(formats);
         return w.t().kernels->formats(w.self(), d, &formats);
       },
       true},
      {"kernels.module_load",
       [](world& w) {
         return w.t().kernels->module_load(w.self(), d, OUTBACK_FORMAT_PTX, world::ptx.data(),
                                           world::ptx.size(), &w.made_module);
       }},
      {"kernels.module_unload",
       [](world& w) {
         return w.t().kernels->module_unload(w.self(), d, std::exchange(w.module, nullptr));
       },
       true},
      {"kernels.kernel",
       [](world& w) {
         outback_kernel found = nullptr;
         return w.t().kernels->kernel(w.self(), d, w.module, "second", &found);
       }},
      {"kernels.info",
       [](world& w) {
         outback_kernel_info info = {};
         info.struct_size = sizeof(info);
         return w.t().kernels->info(w.self(), d, w.kernel, &info);
       },
       true},
      {"kernels.launch", [](world& w) { return launch(w, 0); }},
      {"kernels.launch with much local memory", [](world& w) { return launch(w, 100000); }},
  };
}

}  // namespace

const std::vector<slot_case>& every_slot() {
  static const std::vector<slot_case> slots = [] {
    std::vector<slot_case> all;
    for (const auto group : {required_slots, stream_slots, event_slots, host_slots, device_slots,
                             ipc_slots, graph_slots, kernel_slots}) {
      for (slot_case& each : group()) all.push_back(std::move(each));
    }
    return all;
  }();
  return slots;
}

void PrintTo(const slot_case& slot, std::ostream* out) {
  *out << slot.name;
}

std::string test_name(const testing::TestParamInfo<slot_case>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

}  // namespace outback::cuda
