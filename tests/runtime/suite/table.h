// The table that a program of the suite is about: the only part of it that is compiled for each
// one.
#pragma once

#include "outback/runtime.h"

extern "C" const outback_runtime* outback_suite_table(void);
