"""Who would serve each operator of ATen's, by this environment's backend and torch."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from ..conformance.running import interpreter
from ..refused import Refused

SCHEMA = 1
_PROGRAM = """
import json, sys, torch
name = torch._C._get_privateuse1_backend_name()
module = getattr(torch, name, None)
package = getattr(module, "_outback", None)
if package is None:
    sys.exit(f"torch has no backend of Outback's after it is imported, but {name}")
from importlib import import_module
with open(sys.argv[1], "w") as file:
    json.dump(import_module(package.__name__ + ".operators").providers_document(), file)
"""


@dataclasses.dataclass
class Providers:
    schema: int
    backend: str
    torch: str
    operators: dict[str, str]


def providers() -> Providers:
    with tempfile.NamedTemporaryFile(prefix="outback-ops-", suffix=".json") as file:
        made = subprocess.run(
            interpreter.program(_PROGRAM, file.name), stderr=subprocess.PIPE, text=True
        )
        if made.returncode:
            why = made.stderr.strip().splitlines()
            raise Refused(f"outback ops --list: {why[-1] if why else made.returncode}")
        found = json.loads(Path(file.name).read_text(encoding="utf-8"))
    if found.get("schema") != SCHEMA:
        raise Refused(
            f"the backend's schema is {found.get('schema')!r}, this outback reads {SCHEMA}"
        )
    return Providers(SCHEMA, found["backend"], found["torch"], found["operators"])


def lines(found: Providers) -> Iterator[str]:
    width = max(map(len, found.operators), default=0)
    for operator, served in found.operators.items():
        yield f"{operator:{width}}  {served}"
    counts = Counter(found.operators.values())
    told = ", ".join(f"{count:,} {served}" for served, count in counts.most_common())
    yield click.style(f"{found.backend}, torch {found.torch}: {told}", bold=True)
