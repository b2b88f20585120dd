// Which operators run in another dtype under torch.autocast on this device. Read this to see where
// a rule of autocast comes from; register.cpp is the only caller.
#pragma once

namespace outback::ops {

class registrar;

/// Registers kernels for the dispatch key AutocastPrivateUse1, by torch's own lists of operators
/// for accelerators (ATen/autocast_mode.h, the macros AT_FORALL_...), and a fallthrough for every
/// other operator. Without the fallthrough an operator that is in no list would fail under
/// torch.autocast.
///
/// An operator that already has an autocast kernel keeps it. The backend's excluded operators get
/// these kernels too: an autocast kernel only casts, and calls the operator again.
void register_autocast(registrar& to);

}  // namespace outback::ops
