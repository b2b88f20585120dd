// Declares the members of a runtime's class, which stand for the slots of outback/runtime.h: the
// runtimes of the tree declare them alike, and outback/slot_list.hpp has them already. A class says
// in its comment what its members do beyond the contract.
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
