"""python -m torch_outback: the command `outback`."""

from .cli import main

main(prog_name="outback")
