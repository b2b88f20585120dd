"""Runs PyTorch's samples from a checkout: ``python tests/conformance/run.py --help``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conformance.opinfo.cli import main

if __name__ == "__main__":
    main()
