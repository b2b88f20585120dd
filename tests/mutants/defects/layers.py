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
        name="from_a_call_on_is_that_call_alone",
        breaks="The fault rule mem_alloc:3+=out_of_memory fails the third call and no other.",
        file="backend_template/layers/fault_rules.cpp",
        old="    made.every = take('+') ? 1 : 0;",
        new="    made.every = take('+') ? 0 : 0;",
        found_by="FaultTest.AllCallsFromOneOnFail",
    ),
    Mutant(
        name="a_lost_device_is_found_again",
        breaks="A device that a fault has lost works again at the next call.",
        file="backend_template/layers/faults.cpp",
        old="    now.any_lost.store(true, std::memory_order_release);",
        new="    now.any_lost.store(false, std::memory_order_release);",
        found_by="FaultTest.ALostDeviceStaysLostAndTheOthersDoNotNotice",
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
        file="backend_template/layers/visible_devices.cpp",
        old="[&](uint64_t n) { return n >= uint64_t(count); });",
        new="[&](uint64_t n) { return n > uint64_t(count); });",
        found_by="VisibleDevicesTest.AnInvalidEntryEndsTheList",
    ),
    Mutant(
        name="memory_has_the_hidden_number",
        breaks="With devices hidden, the device of a pointer is the runtime's number and not the "
        "program's.",
        file="backend_template/layers/visible_devices.cpp",
        old="    if (answer.device != OUTBACK_HOST) answer.device = visible_number(answer.device);\n",
        new="",
        found_by="VisibleDevicesTest.MemoryAndItsInfoTakeTheNewNumbers",
    ),
    Mutant(
        name="results_of_failed_calls_are_traced",
        breaks="A trace shows what was in the memory where a failed call's result would be.",
        file="backend_template/layers/trace.cpp",
        old="        if (status == OUTBACK_OK) add_result(results, p, value);",
        new="        add_result(results, p, value);",
        found_by="TextTraceTest.EachGroup",
    ),
)
