"""Writes what the operators of our devices refuse of CPU tensors without dimensions
(backend_template/ops/in_place/refused_entries.h), by what torch.cuda's refused (cpu_scalars.txt).

    python tests/cuda_in_place/write_refused_scalars.py

Any build of torch will do: it only tells which arguments an operator writes. These take no CPU
tensor anyway.
"""

import re
from pathlib import Path

import torch

ANSWERS = Path(__file__).with_name("cpu_scalars.txt")
WRITTEN = Path(__file__).parents[2] / "backend_template/ops/in_place/refused_entries.h"
HEAD = """\
// By tests/cuda_in_place/write_refused_scalars.py: where torch.cuda's operators take no CPU tensor
// without dimensions.
#pragma once

#include <array>
#include <string_view>

namespace outback::ops {

struct refused_entry {
  std::string_view op;  // without its namespace
  std::string_view overload;
  std::string_view arguments;  // as argument_names::spelled
};

// clang-format off
inline constexpr auto refused_entries = std::to_array<refused_entry>({
"""
TAIL = """\
});
// clang-format on

}  // namespace outback::ops
"""

# Where CUDA refused one, and a device of ours takes it all the same: operator, overload,
# argument.
TAKEN_AFTER_ALL = {
    # It was asked with an alpha. Without one, CUDA takes it by another kernel.
    ("_foreach_add_", "Tensor", "other"),
}

# What a later release calls an argument: operator, argument.
RENAMED = {("_cdist_backward", "grad"): "grad_output"}  # in torch 2.15


def answers() -> dict[tuple[str, str], set[str]]:
    """By operator and overload: the arguments that take none. A list takes one at each of its
    places, or at none."""
    table = {}
    for line in ANSWERS.read_text().splitlines():
        name, said = line.split(": ")
        op, _, overload = name.partition(".")
        places = {re.sub(r"\[.\]$", "", each) for each in said.split()}
        names = {each[1:] for each in places if each.startswith("-")}
        assert not names & places, line
        table[op, "" if overload == "default" else overload] = names
    return table


def refused() -> dict[tuple[str, str], list[str]]:
    """What goes into the table, of the overloads that this torch has."""
    table = {}
    for name, names in sorted(answers().items()):
        if schema := schema_of(*name):
            written = {a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write}
            taken = {each for each in names if (*name, each) in TAKEN_AFTER_ALL}
            if left := names - written - taken:
                table[name] = [spelled(name[0], each) for each in sorted(left)]
    return table


def spelled(op: str, argument: str) -> str:
    """An argument by its names."""
    later = RENAMED.get((op, argument))
    return f"{argument}/{later}" if later else argument


def schema_of(op: str, overload: str) -> torch.FunctionSchema | None:
    packet, name = getattr(torch.ops.aten, op, None), overload or "default"
    return getattr(packet, name)._schema if packet and name in packet.overloads() else None


def text() -> str:
    lines = (
        f'  {{"{op}", "{overload}", "{" ".join(names)}"}},\n'
        for (op, overload), names in refused().items()
    )
    return HEAD + "".join(lines) + TAIL


if __name__ == "__main__":
    WRITTEN.write_text(text())
