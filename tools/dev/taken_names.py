"""registration/taken_names.txt: adds the names that the torch of this Python has taken.

./dev docs runs it, and `python tools/dev/taken_names.py` in an environment with another torch. What
is in the list stays there, since it is for all releases of torch; the groups that are not torch's
are written by hand.
"""

import os
import pkgutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "generators/cli"))
from torch_outback import names  # noqa: E402

_WIDTH = 100  # of a line
_IS = 'torch.Tensor has "is_*" already'


def found() -> Iterator[tuple[str, str]]:
    """The names that backend_template/python/names.cpp would find taken, and whose they are."""
    import torch
    from torch.nn.utils.rnn import PackedSequence

    tensor_like = (
        ("torch.Tensor", torch.Tensor),
        ("torch.nn.utils.rnn.PackedSequence", PackedSequence),
        ("torch.UntypedStorage", torch.UntypedStorage),
        ("torch.TypedStorage", torch.TypedStorage),
    )
    # An instance of Module has what its class has not: `training`.
    others = (("torch", torch), ("torch._C", torch._C), ("torch.nn.Module", torch.nn.Module()))
    for owner, value in (*others[:2], tensor_like[0], others[2], *tensor_like[1:]):
        for attribute in dir(value):
            yield attribute, f"{owner}.*{_call(value, attribute)} is there already"
    # Modules that nobody has imported yet.
    for module in pkgutil.iter_modules(torch.__path__):
        yield module.name, "torch.* is there already"
    for owner, value in tensor_like:
        for attribute in dir(value):
            if attribute.startswith("is_"):
                yield attribute.removeprefix("is_"), _IS.replace("torch.Tensor", owner)


def _call(owner: object, attribute: str) -> str:
    value = getattr(owner, attribute, None)
    return "()" if callable(value) and not isinstance(value, type) else ""


def add() -> list[str]:
    """Writes the list; answers what is new in it."""
    groups = names.taken()
    known = {name for group in groups.values() for name in group}
    new = []
    for name, why in found():
        if name not in known and not names.problem(name):
            groups.setdefault(why, []).append(name)
            known.add(name)
            new.append(name)
    if new:
        names.TAKEN.write_text(_written(names.TAKEN.read_text("utf-8"), groups), "utf-8")
    return new


def _written(text: str, groups: dict[str, list[str]]) -> str:
    """`text`, which is the list's, with these groups below its comment."""
    comment = "".join(line for line in text.splitlines(True) if line.startswith("#"))
    entries = [f"{why}\n{_lines(group)}\n" for why, group in groups.items()]
    return f"{comment}\n{''.join(entries)}"


def _lines(words: list[str]) -> str:
    indent = " " * 4
    return textwrap.fill(
        " ".join(sorted(words)), _WIDTH, initial_indent=indent, subsequent_indent=indent
    )


if __name__ == "__main__":
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # a backend's names are not torch's
    for name in add():
        print(name)
