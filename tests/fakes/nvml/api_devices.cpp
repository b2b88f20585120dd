// NVML's entry points: the library, and which devices there are.
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/fakes/nvml/nvml_machine.hpp"

using namespace fake_nvml;

namespace {

void give(const std::string& text, char* to, unsigned size) {
  require(to != nullptr);
  if (size <= text.size()) throw failure{NVML_ERROR_INSUFFICIENT_SIZE};
  std::memcpy(to, text.c_str(), text.size() + 1);
}

nvmlDevice_t handle_of(device* given) {
  return reinterpret_cast<nvmlDevice_t>(given);
}

device& whole(machine& m, nvmlDevice_t handle) {
  device& found = checked(m, handle);
  require(found.whole == nullptr);
  return found;
}

device& instance(machine& m, nvmlDevice_t handle) {
  device& found = checked(m, handle);
  require(found.whole != nullptr);
  return found;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2(void) {
  return enter(
      __func__,
      [](machine& m) {
        if (m.given.init_error != 0) throw failure{NVML_ERROR_DRIVER_NOT_LOADED};
        ++m.initialised;
      },
      true);
}

// By which torch counts devices.
nvmlReturn_t nvmlInit(void) {
  return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void) {
  return enter(__func__, [](machine& m) { --m.initialised; });
}

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "The provided version is invalid/unsupported";
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return enter(__func__, [&](machine& m) {
    require(version != nullptr);
    *version = m.given.driver_version;
  });
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  return enter(__func__, [&](machine& m) {
    require(count != nullptr);
    *count = unsigned(m.devices.size());
  });
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* found) {
  return enter(__func__, [&](machine& m) {
    require(found != nullptr && index < m.devices.size());
    *found = handle_of(m.devices[index]);
  });
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* found) {
  return enter(__func__, [&](machine& m) {
    require(uuid != nullptr && found != nullptr);
    for (device* const each : m.devices) {
      if (each->described.uuid_text == uuid) return void(*found = handle_of(each));
      for (device* const part : each->instances) {
        if (part->described.uuid_text == uuid) return void(*found = handle_of(part));
      }
    }
    throw failure{NVML_ERROR_NOT_FOUND};
  });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* found) {
  return enter(__func__, [&](machine& m) {
    require(id != nullptr && found != nullptr);
    // Domains of four or eight digits.
    unsigned domain = 0, bus = 0, slot = 0;
    require(std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3);
    for (device* const each : m.devices) {
      if (domain == 0 && slot == 0 && unsigned(each->described.pci_bus) == bus) {
        return void(*found = handle_of(each));
      }
    }
    throw failure{NVML_ERROR_NOT_FOUND};
  });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned size) {
  return enter(__func__,
               [&](machine& m) { give(checked(m, handle).described.uuid_text, uuid, size); });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned size) {
  return enter(__func__, [&](machine& m) { give(checked(m, handle).described.name, name, size); });
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned* index) {
  return enter(__func__, [&](machine& m) {
    require(index != nullptr);
    *index = checked(m, handle).index;
  });
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t handle, unsigned* current, unsigned* pending) {
  return enter(__func__, [&](machine& m) {
    require(current != nullptr && pending != nullptr);
    *current = *pending = !whole(m, handle).instances.empty();
  });
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned* count) {
  return enter(__func__, [&](machine& m) {
    require(count != nullptr);
    *count = whole(m, handle).instances.empty() ? 0 : 7;
  });
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t handle, unsigned index,
                                                 nvmlDevice_t* found) {
  return enter(__func__, [&](machine& m) {
    require(found != nullptr);
    const auto& instances = whole(m, handle).instances;
    if (index >= instances.size()) throw failure{NVML_ERROR_NOT_FOUND};
    *found = handle_of(instances[index]);
  });
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t handle,
                                                          nvmlDevice_t* found) {
  return enter(__func__, [&](machine& m) {
    require(found != nullptr);
    *found = handle_of(instance(m, handle).whole);
  });
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t handle, unsigned* is) {
  return enter(__func__, [&](machine& m) {
    require(is != nullptr);
    *is = checked(m, handle).whole != nullptr;
  });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t handle, unsigned* id) {
  return enter(__func__, [&](machine& m) {
    require(id != nullptr);
    *id = instance(m, handle).index + 1;
  });
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t handle, unsigned* id) {
  return enter(__func__, [&](machine& m) {
    require(id != nullptr);
    static_cast<void>(instance(m, handle));
    *id = 0;
  });
}

}  // extern "C"
