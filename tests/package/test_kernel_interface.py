"""What a library of kernels asks the backend by: a table of functions."""

import re
from pathlib import Path

HEADER = Path(__file__).resolve().parents[2] / "backend_template/core/kernel_services.h"

# By the number in the name of its namespace. A released one never changes.
FROZEN = {
    3: [
        "const outback_runtime& runtime() const noexcept",
        "const std::string& backend_name() const noexcept",
        "void check(outback_status status, const char* slot) const",
        "c10::Stream current_stream(c10::DeviceIndex device) const",
        "outback_stream handle_of(const c10::Stream& stream) const",
        "void synchronize_stream(const c10::Stream& stream) const",
        "void mark_busy(const c10::Stream& stream) const",
        "void* native_stream(const c10::Stream& stream) const",
        "c10::DeviceIndex exchange_device(c10::DeviceIndex device) const",
        "void set_device_unchecked(c10::DeviceIndex device) const noexcept",
        "int32_t runtime_device(c10::DeviceIndex device) const",
        "void check_dtype(c10::ScalarType dtype) const",
        "const c10::KernelFunction* kernel_after_vendors(const c10::OperatorHandle& op) const",
        "std::span<const packed_module> packed_modules() const noexcept",
        "void give_back_at_exit(void (*give_back)() noexcept) const",
        "c10::Allocator& device_allocator() const",
    ],
}


def test_its_functions_are_those_of_its_number():
    text = HEADER.read_text()
    (number,) = re.findall(r"inline namespace kernel_abi_(\d+) {", text)
    assert re.findall(r"virtual ([^=]+) = 0;", text) == FROZEN[int(number)], (
        "another order or another function needs the next number, in the header and here"
    )
