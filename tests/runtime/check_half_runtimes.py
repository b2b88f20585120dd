"""Compiles the classes of half_runtime.hpp, all in one file: each must be refused in the words that
name what is missing, and the whole ones must not be.

    python check_half_runtimes.py COMPILER INCLUDE_FOLDER...
"""

import re
import subprocess
import sys
from pathlib import Path

# By OUTBACK_CASE: what the compiler says, or None where the class is whole.
EXPECTED = {
    0: None,
    8: None,
    32: None,
    33: None,
    1: "needs the member: void mem_fill",
    2: "the group events needs the group streams",
    3: "group streams, but not the member: bool stream_query",
    4: "group streams, but not the member: bool stream_query",
    5: "group events, but not the member: void event_wait",
    6: "group host_memory, but not the member: outback_pointer_info host_info",
    7: "group device_state, but not the member: void device_select",
    9: "group host_registration, but not the member: void host_unregister",
    10: "group peer, but not the member: void peer_disable",
    11: "group native, but not the member: outback_stream native_wrap_stream",
    12: "group callbacks, but not the member: void callback_enqueue",
    13: "group ipc, but not the member: void ipc_close_memory",
    14: "group graphs, but not the member: outback_capture graph_status",
    15: "group telemetry, but not the member: int64_t telemetry_read",
    16: "group peer, but not the member: bool peer_can_access",
    17: "group native, but not the member: void* native_context",
    18: "group activity, but not the member: outback_records activity_read",
    19: "group ranges, but not the member: void range_pop",
    20: "the group host_registration needs the group host_memory",
    21: "the group native needs the group events",
    22: "the group callbacks needs the group streams",
    23: "the group ipc needs the group events",
    24: "the group graphs needs the group events",
    30: "needs the member: void* mem_alloc(int32_t device, std::size_t size)",
    31: "needs the member: void* mem_alloc",
}
_HEADER = Path(__file__).with_name("half_runtime.hpp")
_REFUSAL = re.compile(r"error: static.assert(?:ion)? failed.*")
_ONE = 'namespace case_{0} {{\n#define OUTBACK_CASE {0}\n#include "{1}"\n}}\n'


def compiled(compiler: str, folders: list[str]) -> str:
    """What the compiler prints of all the classes."""
    source = '#include "outback/runtime.hpp"\n'
    source += "".join(_ONE.format(case, _HEADER) for case in EXPECTED)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-ferror-limit=0", "-x", "c++", "-"]
    if "clang" not in subprocess.check_output([compiler, "--version"], text=True):
        command.remove("-ferror-limit=0")  # GCC has no limit
    command += [f"-I{folder}" for folder in folders]
    return subprocess.run(command, input=source, capture_output=True, text=True).stderr


def refusals(printed: str) -> dict[int, set[str]]:
    """By case, what was refused. GCC names the class before its errors, Clang after each."""
    start = r"(?m)^(?=.*In instantiation of)"
    if not re.search(start, printed):
        start = r"(?m)^(?=.*error: )"
    found: dict[int, set[str]] = {}
    for part in re.split(start, printed):
        said = set(_REFUSAL.findall(part))
        cases = set(map(int, re.findall(r"case_(\d+)::runtime", part)))
        if said:
            assert len(cases) == 1, f"of which class is this?\n{part}"
            found.setdefault(cases.pop(), set()).update(said)
    return found


def main() -> int:
    printed = compiled(sys.argv[1], sys.argv[2:])
    found = refusals(printed)
    errors = [line for line in printed.splitlines() if "error: " in line]
    wrong = [line for line in errors if not _REFUSAL.search(line)]
    for case, words in EXPECTED.items():
        said = found.get(case, set())
        if words is None and said:
            wrong.append(f"case {case} is whole, and was refused: {said}")
        elif words is not None and not any(words in line for line in said):
            wrong.append(f"case {case} was to be refused for {words!r}; the compiler said {said}")
    print("\n".join(wrong) or f"{len(EXPECTED)} classes, {len(found)} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
