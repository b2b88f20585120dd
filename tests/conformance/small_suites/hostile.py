"""A check whose words no report should take for its own."""

from conformance.backend import Backend
from conformance.check import check


@check()
def fails_with_hostile_words(_: Backend) -> None:
    """It fails."""
    raise AssertionError("<script>[/bold] \ud800 \x1b[2J \x00 ]]> \u00e9")
