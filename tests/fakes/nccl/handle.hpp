// What ncclComm_t points to.
#pragma once

#include "tests/fakes/nccl/communicator.hpp"

namespace fake_nccl {

struct handle {
  communicator_ptr held;
};

}  // namespace fake_nccl
