"""Writes results/NOT_PASSING.md anew, from the result files beside it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.opinfo import listing

if __name__ == "__main__":
    listing.write(Path(__file__).parent / "results")
