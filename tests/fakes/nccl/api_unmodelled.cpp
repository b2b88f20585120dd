// What torch is linked with and this library does not have: several devices of one process,
// windows, memory of peers, signals, and suspended communicators.
#include "tests/fakes/nccl/communicator.hpp"

using namespace fake_nccl;

#define FAKE_NCCL_UNMODELLED(name)                   \
  int name() {                                       \
    last_error() = #name " is not in the fake NCCL"; \
    return invalid_usage;                            \
  }

#pragma GCC visibility push(default)
extern "C" {

FAKE_NCCL_UNMODELLED(ncclCommGetUniqueId)
FAKE_NCCL_UNMODELLED(ncclCommGrow)
FAKE_NCCL_UNMODELLED(ncclCommInitAll)
FAKE_NCCL_UNMODELLED(ncclCommMemStats)
FAKE_NCCL_UNMODELLED(ncclCommResume)
FAKE_NCCL_UNMODELLED(ncclCommSuspend)
FAKE_NCCL_UNMODELLED(ncclCommWindowDeregister)
FAKE_NCCL_UNMODELLED(ncclCommWindowRegister)
FAKE_NCCL_UNMODELLED(ncclDevCommCreate)
FAKE_NCCL_UNMODELLED(ncclDevCommDestroy)
FAKE_NCCL_UNMODELLED(ncclGetLsaMultimemDevicePointer)
FAKE_NCCL_UNMODELLED(ncclGetPeerDevicePointer)
FAKE_NCCL_UNMODELLED(ncclPutSignal)
FAKE_NCCL_UNMODELLED(ncclSignal)
FAKE_NCCL_UNMODELLED(ncclWaitSignal)
FAKE_NCCL_UNMODELLED(ncclWinGetUserPtr)

}  // extern "C"
