// The device's clock for torch's profiler: events around operators, for the operators' times on the
// device. Registration calls it.
#pragma once

namespace outback::core {

/// Registers the clock with torch::profiler::impl::registerPrivateUse1Methods. Call it once per
/// process. Makes no driver call.
void register_profiler();

}  // namespace outback::core
