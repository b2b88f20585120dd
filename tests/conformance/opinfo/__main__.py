"""``python -m opinfo``."""

from .cli import main

main()
