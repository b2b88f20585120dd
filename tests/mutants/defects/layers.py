"""Defects of backend_template/layers: validation, traces, faults, visible devices."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="delays_are_forgotten",
        breaks="A fault rule delay(5ms) does nothing.",
        file="backend_template/layers/faults.cpp",
        old="      delay += each.how.delay;\n",
        new="",
        found_by="FaultTest.CallsAreDelayed",
    ),
    Mutant(
        name="a_range_is_measured_from_the_beginning",
        breaks="Validation lets a copy run over the end of an allocation that it begins inside of.",
        file="backend_template/layers/validation_memory.cpp",
        old="    if (unknown || size <= inside->size - (address - inside->begin)) return;",
        new="    if (unknown || size <= inside->size || address < inside->begin) return;",
        found_by="ValidationTest.ARangeBeyondItsAllocation",
    ),
    Mutant(
        name="a_refused_free_has_freed",
        breaks="After a free that the runtime refused, validation calls the memory freed.",
        file="backend_template/layers/validation.cpp",
        old="    if (given.memory) objects_.put_back(*given.memory);\n",
        new="",
        found_by="ValidationTest.AFreeThatIsRefusedHasNotFreed",
    ),
    Mutant(
        name="the_device_behind_the_last_is_visible",
        breaks="ACME_VISIBLE_DEVICES=0,2 on a machine with two devices has a device that there is "
        "not.",
        file="backend_template/include/outback/detail/device_list.hpp",
        old="[&](uint64_t n) { return n >= uint64_t(count); });",
        new="[&](uint64_t n) { return n > uint64_t(count); });",
        found_by="VisibleDevicesTest.AnInvalidEntryEndsTheList",
    ),
    Mutant(
        name="memory_has_the_hidden_number",
        breaks="With devices hidden, the device of a pointer is the runtime's number and not the "
        "program's.",
        file="backend_template/layers/visible_devices.cpp",
        old="if (answer.device != OUTBACK_HOST) answer.device = visible_number(answer.device);\n",
        new="",
        found_by="VisibleDevicesTest.MemoryAndItsInfoTakeTheNewNumbers",
    ),
    Mutant(
        name="a_trace_follows_links",
        breaks="OUTBACK_TRACE in /tmp empties the file that somebody's link leads to.",
        file="backend_template/layers/trace_target.cpp",
        old="O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK",
        new="O_WRONLY | O_CREAT | O_NONBLOCK",
        found_by="TraceTargetTest.ASymbolicLinkIsNotFollowed",
    ),
)
