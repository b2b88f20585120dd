// Which operators run in another precision under torch.autocast.
#pragma once

namespace outback::ops {

class registrar;

/// torch's own rules for accelerators, and a fallthrough for all other operators: without it every
/// operator without a rule would fail inside of torch.autocast.
void register_autocast(registrar& to);

}  // namespace outback::ops
