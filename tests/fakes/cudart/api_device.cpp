// Entry points: devices, and which of them is current.
#include <fmt/format.h>

#include <cstring>

#include "tests/fakes/cudart/attributes.hpp"
#include "tests/fakes/cudart/enqueue.hpp"

using namespace fake_cuda;

cudaError_t cudaGetDeviceCount(int* count) {
  // On a machine without devices that is the answer, and the count is 0.
  const cudaError_t error = enter(__func__, [&](call& c) {
    require(count != nullptr, "a null pointer");
    *count = int(c.m.devices.size());
  });
  if (count != nullptr && (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver)) {
    *count = 0;
  }
  return error;
}

cudaError_t cudaSetDevice(int index) {
  return enter(__func__, [&](call& c) {
    device& chosen = c.m.device_at(index);
    this_thread().device = index;
    set_context(&chosen);
    need_context(c.m);  // since CUDA 12
  });
}

cudaError_t cudaInitDevice(int index, unsigned device_flags, unsigned flags) {
  return enter(__func__, [&](call& c) {
    require(flags == 0 || flags == cudaInitDeviceFlagsAreValid, "flags that there are not");
    device& chosen = c.m.device_at(index);
    hold_for_runtime(c.m, chosen);
    if (flags != 0) chosen.flags = device_flags;
    c.m.check_alive(chosen);
  });
}

cudaError_t cudaGetDevice(int* index) {
  return enter(__func__, [&](call& c) {
    require(index != nullptr, "a null pointer");
    const device* const current = context_device(c.m);
    *index = current == nullptr ? this_thread().device : current->index;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return enter(__func__, [&](call& c) {
    require((flags & ~unsigned(cudaDeviceMask)) == 0, "flags that there are not");
    c.m.device_at(this_thread().device).flags = flags;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return enter(__func__, [&](call& c) {
    require(flags != nullptr, "a null pointer");
    const device* const current = context_device(c.m);
    *flags = (current == nullptr ? c.m.device_at(this_thread().device) : *current).flags;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int index) {
  return enter(__func__, [&](call& c) {
    require(value != nullptr, "a null pointer");
    *value = attribute(c.m, c.m.device_at(index), int(which));
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int index) {
  return enter(__func__, [&](call& c) {
    const std::string id = pci_id(c.m.device_at(index).described);
    require(text != nullptr && size > int(id.size()), "room for less than 13 characters");
    std::memcpy(text, id.c_str(), id.size() + 1);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* index, const char* text) {
  return enter(__func__, [&](call& c) {
    require(index != nullptr && text != nullptr, "a null pointer");
    unsigned domain = 0, bus = 0, slot = 0;
    // domain:bus:device.function, domain:bus:device or bus:device.function, in hexadecimal.
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
      domain = 0;
      require(std::sscanf(text, "%x:%x", &bus, &slot) == 2, "no PCI id");
    }
    for (const auto& each : c.m.devices) {
      if (domain == 0 && slot == 0 && unsigned(each->described.pci_bus) == bus) {
        *index = each->index;
        return;
      }
    }
    throw refusal(cudaErrorInvalidDevice, fmt::format("{}: no device has that PCI id", text));
  });
}

cudaError_t cudaDeviceSynchronize() {
  return enter(__func__, [](call& c) {
    device& current = need_context(c.m);
    refuse_captures_of(c, current);
    c.m.wait_for_device(c.lock, current);
    c.m.check_alive(current);
  });
}

cudaError_t cudaDeviceReset() {
  return enter(__func__, entry::release, [](call& c) {
    device* current = context_device(c.m);
    if (current == nullptr) current = &c.m.device_at(this_thread().device);
    if (!current->active()) return;
    c.m.empty_context(c.lock, *current);
    if (current->runtime_retains) {
      --current->retained;
      current->runtime_retains = false;
    }
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return enter(__func__, [&](call& c) {
    need_context(c.m);
    if (least != nullptr) *least = least_priority;
    if (greatest != nullptr) *greatest = greatest_priority;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return enter(__func__, [&](call& c) {
    need_context(c.m);
    require(value != nullptr, "a null pointer");
    if (limit != cudaLimitStackSize) throw refusal(cudaErrorUnsupportedLimit, "not modelled");
    *value = 1024;
  });
}
