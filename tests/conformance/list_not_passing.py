"""Writes results/NOT_PASSING.md anew, from the result files beside it."""

from pathlib import Path

from opinfo import listing

if __name__ == "__main__":
    listing.write(Path(__file__).parent / "results")
