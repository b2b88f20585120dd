// A macro that declares the members of a runtime's class, one for each slot of outback/runtime.h.
// All runtimes in this tree declare the same members, so the macro takes the declarations from
// outback/slot_list.hpp. The comment of each class says what its members do beyond the contract.
//
//   class my_runtime {
//    public:
//     OUTBACK_MEMBERS_OF(runtime)  // the required ones
//     OUTBACK_MEMBERS_OF(streams)  // and those of a group
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "outback/runtime.hpp"
#include "outback/slot_list.hpp"

#define OUTBACK_MEMBER(group, slot, member, result, parameters, ...) result member parameters;
#define OUTBACK_MEMBERS_OF(group, ...) OUTBACK_SLOTS_OF_##group(OUTBACK_MEMBER)
