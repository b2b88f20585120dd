// Groups of operations, and how they come onto a stream.
#pragma once

#include "tests/fakes/nccl/operation.hpp"

namespace fake_nccl {

/// Adds the operation to the thread's group, or enqueues it at once if there is none.
result add(const communicator_ptr& on, operation what, cuda_stream stream);

void start_group();
/// Enqueues what is in it, if it is the outermost one: for each communicator one piece of work,
/// whose operations run at the same time.
result end_group();
/// Forgets what is in it.
result drop_group();

}  // namespace fake_nccl
