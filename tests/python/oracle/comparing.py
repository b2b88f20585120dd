"""A call on both sides, and where what happened is not what is expected."""

from oracle.calls import execute
from oracle.description import Call
from oracle.differences import expected
from oracle.generated_methods import GeneratedMethods

NOTHING = "nothing"


def differing(call: Call, theirs: GeneratedMethods) -> list[str]:
    """One line for each field that differs without being in the list of differences."""
    return paths(execute(call), expected(call, theirs.execute(call), theirs.execute))


def paths(ours, wanted, at: str = "") -> list[str]:
    if isinstance(ours, dict) and isinstance(wanted, dict):
        keys = [*wanted, *(key for key in ours if key not in wanted)]
        return [
            line
            for key in keys
            for line in paths(ours.get(key, NOTHING), wanted.get(key, NOTHING), f"{at}/{key}")
        ]
    return [] if ours == wanted else [f"{at}: {ours!r}, not {wanted!r}"]
