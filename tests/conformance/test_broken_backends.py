"""Each broken backend is found, by the check that it names, and that check passes without it."""

from __future__ import annotations

import pytest
from broken.defect import Defect, all_of_them

from conformance import catalog
from conformance.item import Item
from conformance.request import Request
from conformance.run import Run, Servers

DEFECTS = all_of_them()
TIMEOUT = 60.0  # of each check
SHORT_TIMEOUT = 3.0  # of one that never ends


@pytest.fixture(scope="module")
def items(servers: Servers) -> dict[str, Item]:
    """The entries that the defects name, by id. A worker is asked for them once: not one for each
    defect, none of which is in what an entry is called."""
    suites = {each.suite for each in DEFECTS.values()}
    with Run(request(("torch_acme",), "standard", suites), servers=servers) as run:
        return {each.id: each for each in run.catalog().items}


def request(
    imports: tuple[str, ...], level: str, suites: set[str], timeout: float = TIMEOUT
) -> Request:
    return Request(
        "acme",
        imports=imports,
        level=level,
        suites=catalog.chosen(tuple(suites)),
        chosen=True,
        jobs=1,
        timeout=timeout,
    )


def found(servers: Servers, asked: Request, items: list[Item]) -> dict[str, dict]:
    """What became of the entries, by id. The last result ends the run, and the worker with it: the
    end of an interpreter with torch in it takes as long as all before it, and is not asked for."""
    told: dict[str, dict] = {}

    def hear(entry: dict) -> None:
        told[entry["id"]] = entry
        if len(told) == len(items):
            run.stop()

    with Run(asked, hear, servers) as run:
        run.run(items)
    return told


def id_of(defect: Defect) -> str:
    return f"{defect.suite}/{defect.check}"


def marked(defect: Defect) -> object:
    return pytest.param(defect, id=defect.name, marks=[pytest.mark.slow] if defect.slow else [])


@pytest.mark.parametrize("defect", [marked(each) for each in DEFECTS.values()])
def test_a_broken_backend_is_found(defect, servers, items):
    imports = ("torch_acme", f"broken.{defect.name}")
    timeout = SHORT_TIMEOUT if defect.verdict == "timeout" else TIMEOUT
    item = items[id_of(defect)]
    asked = request(imports, defect.level, {defect.suite}, timeout)
    entry = found(servers, asked, [item])[item.id]
    assert item.is_sample or item.is_of(defect.level)
    assert entry["verdict"] == defect.verdict, entry
    assert defect.says in entry["message"]


@pytest.mark.parametrize(
    ("level", "slow"),
    [("quick", False), pytest.param("standard", True, marks=pytest.mark.slow)],
)
def test_none_of_these_checks_fails_without_a_defect(level, slow, servers, items):
    defects = [each for each in DEFECTS.values() if each.slow == slow]
    ids = {id_of(each) for each in defects}
    asked = request(("torch_acme",), level, {each.suite for each in defects})
    entries = found(servers, asked, [items[each] for each in sorted(ids)])
    assert {id: entries[id]["verdict"] for id in ids} == dict.fromkeys(ids, "pass")


def test_there_are_enough_of_them():
    assert len(DEFECTS) >= 40
    assert sum(each.blind for each in DEFECTS.values()) >= 10
