"""Defects of backend_template/kernels: what a vendor's own kernels are written with."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="a_launch_is_not_counted",
        breaks="What a vendor's kernel put on the stream is not waited for by kernels on the CPU.",
        file="backend_template/kernels/stream.cpp",
        old="  mark_launched();\n  services().set_device_unchecked(device_before_);",
        new="  services().set_device_unchecked(device_before_);",
        found_by="KernelStreamTest.WhatAKernelEnqueuedIsWaitedForByOthers",
    ),
    Mutant(
        name="an_output_of_other_strides_is_not_written",
        breaks="A structured kernel's out= keeps its old values where its strides are not those "
        "that the kernel writes.",
        file="backend_template/kernels/structured.cpp",
        old="    if (proxies_[i].defined()) outputs_[i].copy_(proxies_[i]);",
        new="    if (proxies_[i].defined()) proxies_[i].copy_(outputs_[i]);",
        found_by="StructuredTest.AnOutputWithOtherStridesThanTheKernelsGetsACopy",
    ),
    Mutant(
        name="gradients_are_off_by_one",
        breaks="A derivative's gradients are matched with the arguments before theirs.",
        file="backend_template/kernels/autograd.cpp",
        old="      if (saved.get(i + 1) != 0) {",
        new="      if (saved.get(i) != 0) {",
        found_by="AutogradTest.AnInputThatIsAbsent",
    ),
)
