"""One of PyTorch's test files in a run: its tests, its workers, and the results of both sides."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import verdicts
from ..expectations import Expectations
from ..item import Item
from ..reproduction import SHELL
from ..running.forked import ForkServer
from ..running.source import Entry
from ..running.supervisor import Described, Supervisor
from ..suite_settings import LOADING
from . import reproduction
from .comparing import compared, imported, settles
from .naming import Name
from .request import Request
from .settings import SOURCE
from .table import FILES, suite_of

Told = Callable[[dict[str, Any]], None]
Address = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a file has: `items` run, or one of them says why they do not, with its result."""

    versions: dict[str, str]
    items: list[Item]
    result: dict[str, Any] | None
    unpaired: int  # tests that the CPU has alone
    stand_ins: list[str]
    backend: dict[str, str]


class FileRun:
    """First the device's tests run, then those of the CPU that decide what a result means."""

    def __init__(
        self,
        file: str,
        request: Request,
        on_device: ForkServer,
        on_cpu: ForkServer,
        told: Told,
        impossible: Expectations,
    ):
        """A test in `impossible` is skipped where it fails; `told` may come from any thread."""
        self.suite = suite_of(file)
        self.title = f"PyTorch's {file}" + (f": {FILES[file]}" if file in FILES else "")
        self._file = file
        self._request = request
        self._told = told
        self._impossible = impossible
        self._lock = threading.Lock()
        limits: dict[str, Any] = {"jobs": request.jobs, "timeout": request.timeout}
        self._device = Supervisor(
            *(SOURCE, request.on_device(file).to_json(), on_device, self._from_device), **limits
        )
        self._cpu = Supervisor(
            *(SOURCE, request.on_cpu(file).to_json(), on_cpu, self._from_cpu),
            **limits,
            blames=False,
        )
        self._items: dict[Address, Item] = {}
        self._labels: dict[str, str] = {}  # what PyTorch's runner calls a test, by keys
        self._on_cpu: set[str] = set()  # keys
        self._waiting: dict[Address, tuple[Entry, float]] = {}
        self._asked_for = ""

    def stop(self) -> None:
        self._device.stop()
        self._cpu.stop()

    @property
    def unclean_exits(self) -> list[str]:
        """Of the workers with the backend."""
        return self._device.unclean_exits

    def contents(self) -> Contents:
        """Raises WorkerFailed."""
        device, cpu = self._device.describe(), self._cpu.describe()
        versions, backend = (device.said.get(name, {}) for name in ("versions", "backend"))
        unloaded = _unloaded(device), _unloaded(cpu)
        if any(unloaded):
            loading = Item(self.suite, LOADING, LOADING)
            result = self._found(loading, imported(*unloaded), 0.0)
            return Contents(versions, [loading], result, 0, [], backend)
        names = [Name(test, dtype) for test, dtype, _ in device.said["tests"]]
        self._on_cpu = {Name(test, dtype).key for test, dtype, _ in cpu.said["tests"]}
        self._asked_for = device.said["asked_for"]
        stand_ins = device.said["stand_ins"]
        if not stand_ins:  # with some, PyTorch's runner could not import the file
            labels = [label for _, _, label in device.said["tests"]]
            self._labels = {name.key: label for name, label in zip(names, labels, strict=True)}
        items = [Item(self.suite, name.test, name.key, dtype=name.dtype) for name in names]
        self._items = {each.address: each for each in items}
        unpaired = len(self._on_cpu - {name.key for name in names})
        return Contents(versions, items, None, unpaired, stand_ins, backend)

    def run(self, items: Sequence[Item]) -> None:
        """Raises WorkerFailed."""
        self._device.run([each.address for each in items])
        alone = [address for address in self._waiting if address[0] not in self._on_cpu]
        for address in alone:
            self._tell(address, None)
        self._cpu.run(list(self._waiting))

    def _from_device(self, address: Address, entry: Entry, seconds: float) -> None:
        self._waiting[address] = entry, seconds
        if settles(entry) and self._request.level != "full":
            self._tell(address, None)

    def _from_cpu(self, address: Address, entry: Entry, _: float) -> None:
        self._tell(address, entry)

    def _tell(self, address: Address, cpu: Entry | None) -> None:
        with self._lock:
            entry, seconds = self._waiting.pop(address)
            self._told(self._found(self._items[address], compared(entry, cpu), seconds))

    def _found(self, item: Item, entry: Entry, seconds: float) -> dict[str, Any]:
        """As the document has it."""
        found = verdicts.of(item, entry, seconds)
        if "remark" in entry:
            found["remark"] = entry["remark"]
        if found["verdict"] not in verdicts.BAD:
            return found
        line = self._impossible.of(item.id)
        if line is not None:
            reason = f"no backend on PrivateUse1 can pass it: {line.reason}"
            return verdicts.of(item, {"status": "skipped", "reason": reason}, seconds)
        label = self._labels.get(item.key, "")
        found["reproduction"] = reproduction.of(
            self._request, item, label, self._file, self._asked_for
        )
        found["reproduction_language"] = SHELL
        return found


def _unloaded(described: Described) -> Entry | None:
    """Why a file could not be imported, where it could not."""
    for death in described.deaths.values():
        return {"status": death.status, "error": death.error, "trace": death.trace}
    return described.said["unloaded"]
