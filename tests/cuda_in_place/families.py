"""What a family of programs asked of a device, one by one (programs/one_by_one.py); and what tells
the same family on two devices apart."""

import json
import os
import subprocess
import tempfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import stand_in
from stand_in import Work, pointers, table, work_differences

MOST_DEATHS = 20
PROGRAMS = Path(__file__).with_name("programs")


@dataclass(frozen=True)
class One:
    """One of a family."""

    name: str
    outcome: str  # empty; the type of its exception; or that it ended the process
    answer: str = ""  # what it said, in words
    work: Sequence[Work] = ()
    memory: Mapping[str, int] = field(default_factory=dict)  # of the caching allocator
    offset: int = 0  # how far the random numbers came

    @classmethod
    def of(cls, entry: dict) -> "One":
        work = [Work.of(line) for line in entry.get("work", ())]
        return cls(**{**entry, "work": work})


def renumbered(work: Sequence[Work], where: Mapping[str, Collection[str]]) -> list[Work]:
    """With the addresses that `where`, those of `pointers`, and the tables have. Allocations by the
    order in which these name them: how many others there were before is the affair of others."""
    numbers: dict[str, str] = {}

    def spelled(address: str) -> str:
        of, plus, offset = address.partition("+")
        return numbers.setdefault(of, f"memory {len(numbers) + 1}") + plus + offset

    def read(each: Work) -> dict[str, str]:
        places = {*where[each.name], *table(each)}
        return {at: spelled(which) for at, which in each.addresses.items() if at in places}

    return [replace(each, addresses=read(each)) for each in work]


@dataclass(frozen=True)
class Place:
    """Where families run: a Python with a CUDA build of torch, the stand-ins' folder, one for
    files, and the one that has the backend of a device that is not torch.cuda's."""

    python: Path
    stand_ins: Path
    files: Path
    backend: Path | None = None

    def run(
        self,
        name: str,
        device: str,
        more: Path | None = None,
        share: tuple[int, int] = (0, 1),
        **variables: str,
    ) -> list[One]:
        """Those of a family, or of a share (`is_of`), on a device. `more` is a folder to import
        from."""
        where = Path(tempfile.mkdtemp(prefix=f"{name}-{device}-", dir=self.files))
        backend = None if device == "cuda" else self.backend
        paths = [PROGRAMS, PROGRAMS.parents[2], *filter(None, (more, backend))]
        environment = {
            **stand_in.environment(self.stand_ins),
            "PYTHONPATH": os.pathsep.join(map(os.fspath, paths)),
            "TORCHINDUCTOR_CACHE_DIR": os.fspath(where / "inductor"),
            "TRITON_CACHE_DIR": os.fspath(where / "triton"),
            **variables,
        }
        file, after, deaths = where / "entries.json", "", 0
        part = "/".join(map(str, share))
        command = [self.python, PROGRAMS / "one_by_one.py", name, device, part, file]
        while True:
            done = subprocess.run(
                [*command, after], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                return [One.of(each) for each in entries(file) if "name" in each]
            # It goes on behind the one that has ended the process.
            begun = [each["begins"] for each in entries(file) if "begins" in each]
            deaths += 1
            assert begun and begun[-1] != after and deaths < MOST_DEATHS, f"{after}\n{done.stderr}"
            after = begun[-1]
            with file.open("a") as to:
                print(
                    json.dumps({"name": after, "outcome": f"exit code {done.returncode}"}), file=to
                )


def is_of(program: str, share: tuple[int, int]) -> bool:
    """Whether it is in the share: (0, 4) has about every fourth of a family, by its name."""
    index, count = share
    return zlib.crc32(program.encode()) % count == index


def entries(file: Path) -> Iterator[dict]:
    with file.open() as lines:
        for line in lines:
            yield json.loads(line)


def differences(these: Sequence[One], those: Sequence[One]) -> dict[str, list[str]]:
    """What tells them apart, by name."""
    assert [each.name for each in these] == [each.name for each in those]
    where = pointers(*(each.work for each in (*these, *those)))
    told = {a.name: one_difference(a, b, where) for a, b in zip(these, those, strict=True)}
    return {name: words for name, words in told.items() if words}


def one_difference(a: One, b: One, where: Mapping[str, Collection[str]]) -> list[str]:
    if a.outcome != b.outcome:
        return [f"it ends with {a.outcome or 'success'} and {b.outcome or 'success'}"]
    if a.answer != b.answer:
        return [f"{a.answer} and {b.answer}"]
    told = work_differences(renumbered(a.work, where), renumbered(b.work, where), where)
    told += [
        f"{key}: {a.memory.get(key)} and {b.memory.get(key)}"
        for key in sorted({*a.memory, *b.memory})
        if a.memory.get(key) != b.memory.get(key)
    ]
    if a.offset != b.offset:
        told.append(f"random numbers: {a.offset} and {b.offset}")
    return told
