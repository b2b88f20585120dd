"""Compiles classes that lack something, all in one file: each must be refused in words that name
what is missing, and the whole ones must not be. They are made from the list of slots.

    python check_half_runtimes.py COMPILER INCLUDE_FOLDER...
"""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

_REFUSAL = re.compile(r"error: static.assert(?:ion)? failed.*")


@dataclass(frozen=True)
class Slot:
    group: str
    member: str
    result: str
    parameters: str

    def __str__(self) -> str:
        return f"{self.result} {self.member}{self.parameters}"


@dataclass(frozen=True)
class Group:
    name: str
    needs: str


@dataclass
class Case:
    """A class, and what the compiler says of it: None where it is whole."""

    words: str | None
    instead: dict[str, str] = field(default_factory=dict)  # of a member, by its name
    groups: set[str] | None = None  # those that it has; None: all


class Contract:
    def __init__(self, folders: list[str]) -> None:
        (header,) = (p for f in folders if (p := Path(f) / "outback/slot_list.hpp").exists())
        # Comments and the lines' ends are no part of a row.
        text = re.sub(r"//.*|\\\n", "", header.read_text("utf-8"))
        text = re.sub(r"\s+", " ", text)
        rows = re.findall(r" X\((\w+), \w+, (\w+), ([^,]+), (\([^()]*\))[,)]", text)
        self.slots = [Slot(*row) for row in rows]
        self.groups = [Group(*row) for row in re.findall(r" X\((\w+), \d+, (\w+), \d+\)", text)]
        assert len(self.slots) > 50 and len(self.groups) > 12, "the list has another form"

    def of(self, group: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.group == group]

    def source(self, case: Case) -> str:
        there = {"runtime"} | (
            {group.name for group in self.groups} if case.groups is None else case.groups
        )
        members = [
            case.instead.get(slot.member, f"{slot};") for slot in self.slots if slot.group in there
        ]
        return "\n".join(members)

    def cases(self) -> list[Case]:
        all_but_state = {group.name for group in self.groups} - {"device_state"}
        found = [
            Case(None),
            Case(None, groups=all_but_state),
            Case("needs the member: void mem_fill", {"mem_fill": ""}),
            Case(
                "group streams, but not the member: bool stream_query",
                {"stream_query": "int stream_query(int32_t, outback_stream);"},
            ),
            # The name without the signature, and nothing else of the group.
            Case(
                "group device_state, but not the member: void device_select",
                {
                    "device_select": "void device_select();",
                    "device_is_active": "",
                    "memory_usage": "",
                },
            ),
            Case(
                "group telemetry, but not the member: int64_t telemetry_read",
                {"telemetry_read": "int64_t telemetry_read(int32_t);"},
            ),
            Case(
                "group peer, but not the member: bool peer_can_access",
                {"peer_can_access": "int peer_can_access(int32_t, int32_t);"},
            ),
            # Other integers than the list has. The first would allocate a part of 5 GiB.
            Case(
                "needs the member: void* mem_alloc(int32_t device, std::size_t size)",
                {"mem_alloc": "void* mem_alloc(int32_t, int);"},
            ),
            Case(
                "needs the member: void* mem_alloc",
                {"mem_alloc": "void* mem_alloc(int32_t, bool);"},
            ),
            Case(
                None,
                {
                    "mem_alloc": "struct amount { amount(std::size_t); };"
                    " void* mem_alloc(int64_t, amount);"
                },
            ),
            Case(None, {"mem_alloc": "void* mem_alloc(const int32_t&, long long&&);"}),
        ]
        for group in self.groups:
            slots = self.of(group.name)
            for slot in slots:
                # Without its only slot, nothing of the group would be there.
                instead = "" if len(slots) > 1 else f"void {slot.member}();"
                words = f"group {group.name}, but not the member: {slot}"
                found.append(Case(words, {slot.member: instead}))
            if group.needs != "runtime":
                words = f"the group {group.name} needs the group {group.needs}"
                found.append(Case(words, groups={group.name}))
        return found


def compiled(compiler: str, folders: list[str], classes: list[str]) -> str:
    """What the compiler prints of all the classes."""
    source = '#include "outback/runtime.hpp"\n'
    for number, members in enumerate(classes):
        source += (
            f"namespace case_{number} {{\nstruct runtime {{\n{members}\n}};\n"
            "const outback_runtime* table_of_runtime(runtime& r) { return outback::table_of(r); }\n"
            "}\n"
        )
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
    contract = Contract(sys.argv[2:])
    cases = contract.cases()
    printed = compiled(sys.argv[1], sys.argv[2:], [contract.source(case) for case in cases])
    found = refusals(printed)
    errors = [line for line in printed.splitlines() if "error: " in line]
    wrong = [line for line in errors if not _REFUSAL.search(line)]
    for number, case in enumerate(cases):
        said = found.get(number, set())
        if case.words is None and said:
            wrong.append(f"case {number} is whole, and was refused: {said}")
        elif case.words is not None and not any(case.words in line for line in said):
            wrong.append(f"case {number}: expected {case.words!r}; the compiler said {said}")
    print("\n".join(wrong) or f"{len(cases)} classes, {len(found)} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
