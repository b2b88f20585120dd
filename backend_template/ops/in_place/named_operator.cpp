#include "backend_template/ops/in_place/named_operator.h"

#include <memory>
#include <string_view>

#include "backend_template/ops/registrar.h"

namespace outback::ops {

// Two threads may both find it; the second one's facts are dropped. The kept ones are leaked: a
// call may come at exit.
const named_operator::facts& named_operator::find() {
  const c10::OperatorHandle handle =
      registrar::find(text.name + std::string_view("aten::").size(), text.overload).value();
  auto found = std::make_unique<const facts>(facts{facts_of(handle), handle});
  const facts* known = nullptr;
  if (known_.compare_exchange_strong(known, found.get(), std::memory_order_acq_rel)) {
    return *found.release();
  }
  return *known;
}

}  // namespace outback::ops
