"""Runs the harness from a checkout: ``python tests/conformance/run.py --help``."""

from opinfo.cli import main

if __name__ == "__main__":
    main()
