"""Programs on torch's CUDA build and stand-ins of NVIDIA's libraries, and what they did there."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from pathlib import Path

# In place of those of the same names that torch is linked with. cuBLAS after what it calls.
LIBRARIES = (
    "libcudart.so.13",
    "libcuda.so.1",
    "libnvidia-ml.so.1",
    "libcublasLt.so.13",
    "libcublas.so.13",
    "libnccl.so.2",
)
TIMEOUT = 300  # seconds


@dataclass(frozen=True)
class Work:
    """A kernel, copy, fill or call that a program asked for: a line of its record."""

    what: str  # kernel, copy, fill, call
    when: str  # now, captured, replayed
    device: int
    stream: int  # 0: a default stream; else a number among those of its device
    grid: str
    block: str
    size: int  # bytes: of dynamic shared memory, or as many as are copied
    name: str
    # Where in its parameters ("1.8": byte 8 of the second) which memory ("0:3+512": byte 512 of the
    # third allocation of device 0) is. Closures have gaps that nobody writes, in which addresses of
    # before may lie: `pointers` knows.
    addresses: Mapping[str, str] = field(compare=False)

    @classmethod
    def of(cls, line: str) -> "Work":
        what, when, device, stream, grid, block, size, name, spelled = line.split("\t")
        addresses = dict(each.split("=") for each in spelled.split())
        return cls(what, when, int(device), int(stream), grid, block, int(size), name, addresses)

    @property
    def short_name(self) -> str:
        """Without namespaces, templates, parameters: "vectorized_elementwise_kernel"."""
        plain = self.name.replace("(anonymous namespace)::", "")
        return re.split("::", re.split(r"[<(]", plain)[0].split(" ")[-1])[-1]


@dataclass(frozen=True)
class Run:
    output: str
    errors: str
    work: list[Work]

    @property
    def kernels(self) -> list[str]:
        return [each.short_name for each in self.work if each.what == "kernel"]

    def count(self, what: str, when: str = "now") -> int:
        return sum(each.what == what and each.when == when for each in self.work)


def environment(folder: Path) -> dict[str, str]:
    """Of a program on the stand-ins: two devices like an A100 of 8 GiB. (On anything newer torch
    has cuDNN compute attention, which does not start here.)"""
    ours = ("PYTHONPATH", "CUDA_VISIBLE_DEVICES", "PYTORCH_ALLOC_CONF")
    return {
        **{name: value for name, value in os.environ.items() if name not in ours},
        "LD_PRELOAD": ":".join(os.fspath(folder / each) for each in LIBRARIES),
        "FAKE_CUDA_MEMORY": "8G",
        "FAKE_CUDA_CAPABILITY": "8.0",
        "FAKE_CUDART_STRICT": "1",
        "TRITON_LIBCUDA_PATH": os.fspath(folder),
    }


def run(
    command: Sequence[str | Path], folder: Path, record: Path, more: Mapping[str, str] = {}
) -> Run:
    """Runs it to its end with the stand-ins of that folder. Its failure is one here."""
    variables = {**environment(folder), "FAKE_CUDART_RECORD": os.fspath(record), **more}
    done = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    work = [Work.of(line) for line in record.read_text().splitlines()]
    return Run(done.stdout, done.stderr, work)


def run_ranks(
    command: Sequence[str | Path],
    size: int,
    folder: Path,
    where: Path,
    more: Mapping[str, str] = {},
    codes: Mapping[int, int] = {},
) -> list[Run]:
    """The same for processes that communicate: RANK, WORLD_SIZE and STORE, a file, are variables of
    each, and LOCAL_RANK. Each has its own machine, so they share no memory. `codes` are the exit
    codes of those ranks that do not succeed."""
    common = {
        **environment(folder),
        "FAKE_CUDA_DEVICES": str(size),
        "WORLD_SIZE": str(size),
        "STORE": os.fspath(where / "store"),
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONUNBUFFERED": "1",
        **more,
    }
    started = []
    for rank in range(size):
        of_rank = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        record = {"FAKE_CUDART_RECORD": os.fspath(where / f"record.{rank}")}
        with (
            open(where / f"output.{rank}", "w") as output,
            open(where / f"errors.{rank}", "w") as errors,
        ):
            variables = {**record, **common, **of_rank}
            started.append(subprocess.Popen(command, env=variables, stdout=output, stderr=errors))
    end = time.monotonic() + TIMEOUT
    while any(each.poll() is None for each in started) and time.monotonic() < end:
        codes_now = [each.poll() for each in started]
        if any(code not in (None, codes.get(rank, 0)) for rank, code in enumerate(codes_now)):
            break  # the others would wait for it
        time.sleep(0.02)
    for each in started:
        each.kill()
    runs = []
    for rank, each in enumerate(started):
        said, told = ((where / f"{kind}.{rank}").read_text() for kind in ("output", "errors"))
        runs.append((each.wait(), said, told))
    done = []
    # A rank that was killed here is not the one that went wrong.
    killed = [rank for rank, (code, _, _) in enumerate(runs) if code == -signal.SIGKILL]
    for rank in sorted(range(size), key=killed.__contains__):
        code, said, told = runs[rank]
        assert code == codes.get(rank, 0), f"rank {rank}: exit code {code}\n{said}\n{told[-6000:]}"
    for rank, (_, said, told) in enumerate(runs):
        file = where / f"record.{rank}"  # none of a process that has not come to CUDA
        lines = file.read_text().splitlines() if file.exists() else []
        done.append(Run(said, told, [Work.of(line) for line in lines]))
    return done


# Kernels with tables of addresses: the parameter, and the dimension of the grid that has a block or
# more for each of a row. What lies behind is what was on the stack.
TABLES = {"multi_tensor_apply_kernel": (0, 0), "CatArrayBatchedCopy": (1, 1)}
# Bytes of a row of the first, by the number of rows: of torch 2.13 and of 2.11.
ROWS = (
    {1: 8 * 770, 2: 8 * 448, 3: 8 * 336, 4: 8 * 252, 5: 8 * 210},
    {1: 8 * 110, 2: 8 * 64, 3: 8 * 48, 4: 8 * 36, 5: 8 * 30},
)
# Kernels that torch compiles at run time, for operators on each element: (a count, addresses, what
# calculates offsets, ...). Behind the addresses there are none, but what was on the stack.
JITTED = re.compile(r"\w+_forward_kernel")
OPENS, CLOSES = "([{<", ")]}>"


@cache
def parameter_types(name: str) -> list[str]:
    """Of a kernel whose name is a declaration: "f(int, std::array<char*, 2ul>)"; else none."""
    found, depth, end = [], 0, len(name) - 1
    if not name.endswith(")"):
        return []
    for i in range(len(name) - 1, -1, -1):
        if name[i] in CLOSES and name[i - 1 : i + 1] != "->":
            depth += 1
        elif name[i] in OPENS:
            depth -= 1
        if depth == 0 or (depth == 1 and name[i] == ","):
            found.append(name[i + 1 : end].strip())
            end = i
        if depth == 0:
            return found[::-1]
    return []


def by_parameter(work: Work) -> dict[tuple[str, str], tuple[int, set[str]]]:
    """The places of its addresses in each parameter, with the number of that; by the kernel's short
    name and the parameter's type."""
    types = parameter_types(work.name) if work.what == "kernel" else []
    places: dict[int, set[str]] = {i: set() for i in range(len(types))}
    tables = {number for name, (number, _) in TABLES.items() if work.short_name.startswith(name)}
    for at in work.addresses:
        number, _, offset = at.partition(".")
        if not types and JITTED.fullmatch(work.name):
            return {(work.name, ""): (-1, {it for it in work.addresses if it.startswith("1.")})}
        if not types or not number.isdecimal():
            return {(work.name, ""): (-1, set(work.addresses))}
        if int(number) not in tables:
            places[int(number)].add(offset)
    return {(work.short_name, f"{types[i]} {i}"): (i, found) for i, found in places.items()}


def pointers(*runs: Sequence[Work]) -> Mapping[str, Collection[str]]:
    """For each kernel where in its parameters addresses are: where all launches have one, also
    those of other kernels of its short name whose parameter is of the same type."""
    common: dict[tuple[str, str], set[str]] = {}
    named: dict[str, Work] = {}
    for each in (work for run in runs for work in run):
        named[each.name] = each
        for of, (_, places) in by_parameter(each).items():
            common[of] = common[of] & places if of in common else places
    return {
        name: {
            place if number < 0 else f"{number}.{place}"
            for of, (number, _) in by_parameter(each).items()
            for place in common[of]
        }
        for name, each in named.items()
    }


def table(work: Work) -> list[str]:
    """Where the addresses of its table are."""
    for name, (parameter, dimension) in TABLES.items():
        if work.short_name.startswith(name):
            blocks = int(work.grid.split("x")[dimension])
            lists = re.search(r"TensorList.*\b(\d)>$", parameter_types(work.name)[parameter])
            rows = int(lists[1]) if lists else 1
            for of_row in ROWS:
                begins = [row * of_row[rows] for row in range(rows)]
                places = [[f"{parameter}.{of + 8 * i}" for i in range(blocks)] for of in begins]
                found = [list(takewhile(work.addresses.__contains__, row)) for row in places]
                if all(found):
                    return [at for row in found for at in row]
    return []


def differences(one: Sequence[Work], other: Sequence[Work]) -> list[str]:
    """What tells two programs' work apart, in words; none where both ask the same of the same
    memory, in the same order."""
    return work_differences(one, other, pointers(one, other))


def work_differences(
    one: Sequence[Work], other: Sequence[Work], where: Mapping[str, Collection[str]], most: int = 10
) -> list[str]:
    """`where`: those of `pointers`."""
    told = [f"{i}: {a}\n   {b}" for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other):
        told.append(f"{len(one)} and {len(other)} pieces of work")
    if told:
        return told[:most]
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        for at in sorted({*where[a.name], *table(a), *table(b)}):
            these, those = a.addresses.get(at), b.addresses.get(at)
            if these != those:
                told.append(f"{i}: {a.name}: {at}: {these} and {those}")
    return told[:most]
