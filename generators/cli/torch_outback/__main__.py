"""python -m torch_outback --prefix: what CMAKE_PREFIX_PATH needs for find_package(Outback)."""

import argparse

from . import prefix


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m torch_outback")
    parser.add_argument(
        "--prefix",
        action="store_true",
        required=True,
        help="print the folder for CMAKE_PREFIX_PATH",
    )
    parser.parse_args()
    print(prefix())


main()
