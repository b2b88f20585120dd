"""Each broken backend is found, by the check that it names, and that check passes without it."""

from __future__ import annotations

import pytest
from broken.defect import Defect, all_of_them

from conformance import catalog
from conformance.request import Request
from conformance.run import Run, Servers

DEFECTS = all_of_them()
TIMEOUT = 10.0  # of each check
SHORT_TIMEOUT = 3.0  # of one that never ends


def found(
    servers: Servers,
    imports: tuple[str, ...],
    level: str,
    suites: set[str],
    ids: set[str],
    timeout: float = TIMEOUT,
) -> dict[str, dict]:
    """What became of the entries, by id."""
    request = Request(
        "acme",
        imports=imports,
        level=level,
        suites=catalog.chosen(tuple(suites)),
        chosen=True,
        filter=" or ".join(f'"{each}"' for each in sorted(ids)),
        jobs=1,
        timeout=timeout,
    )
    told: list[dict] = []
    with Run(request, told.append, servers) as run:
        # The filter takes what has the words somewhere: forward_ad too, for forward.
        run.run([each for each in run.catalog().selected if each.id in ids])
    return {each["id"]: each for each in told}


def id_of(defect: Defect) -> str:
    return f"{defect.suite}/{defect.check}"


def marked(defect: Defect) -> object:
    return pytest.param(defect, id=defect.name, marks=[pytest.mark.slow] if defect.slow else [])


@pytest.mark.parametrize("defect", [marked(each) for each in DEFECTS.values()])
def test_a_broken_backend_is_found(defect, servers):
    imports = ("torch_acme", f"broken.{defect.name}")
    timeout = SHORT_TIMEOUT if defect.verdict == "timeout" else TIMEOUT
    entries = found(servers, imports, defect.level, {defect.suite}, {id_of(defect)}, timeout)
    entry = entries[id_of(defect)]
    assert entry["verdict"] == defect.verdict, entry
    assert defect.says in entry["message"]


@pytest.mark.parametrize(
    ("level", "slow"),
    [("quick", False), pytest.param("standard", True, marks=pytest.mark.slow)],
)
def test_none_of_these_checks_fails_without_a_defect(level, slow, servers):
    defects = [each for each in DEFECTS.values() if each.slow == slow]
    ids = {id_of(each) for each in defects}
    entries = found(servers, ("torch_acme",), level, {each.suite for each in defects}, ids)
    assert {id: entries[id]["verdict"] for id in ids} == dict.fromkeys(ids, "pass")


def test_there_are_enough_of_them():
    assert len(DEFECTS) >= 40
    assert sum(each.blind for each in DEFECTS.values()) >= 10
