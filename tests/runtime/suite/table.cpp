// OUTBACK_SUITE_TABLE is the function that answers the table: see
// outback_add_runtime_suite_program.
#include "tests/runtime/suite/table.h"

extern "C" const outback_runtime* OUTBACK_SUITE_TABLE(void);

const outback_runtime* outback_suite_table(void) {
  return OUTBACK_SUITE_TABLE();
}
