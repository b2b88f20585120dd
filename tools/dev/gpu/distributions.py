"""Asked of the Python of an environment: which files its distributions consist of.

python distributions.py WANTED... -- THERE... answers JSON about WANTED and all that they need, but
for THERE and all that those need.
"""

import json
import sys
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def closure(names):
    found, waiting = set(), [canonicalize_name(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for line in metadata.requires(name) or ():
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                waiting.append(canonicalize_name(need.name))
    return found


def about(name):
    distribution = metadata.distribution(name)
    files = [file for file in distribution.files if ".." not in file.parts]
    files = [file for file in files if file.suffix != ".pyc"]
    tops = {file.parts[0].removesuffix(".py") for file in files if file.suffix == ".py"}
    modules = {file.parts[0] for file in files if file.name == "__init__.py"} or tops
    pure = "Root-Is-Purelib: true" in (distribution.read_text("WHEEL") or "")
    return {
        "version": distribution.version,
        "module": sorted(modules, key=lambda module: (module.startswith("_"), module))[0],
        "for": "any" if pure else sys.implementation.cache_tag,
        "root": str(distribution.locate_file("")),
        "files": [str(file) for file in files],
    }


def main():
    middle = sys.argv.index("--")
    names = closure(sys.argv[1:middle]) - closure(sys.argv[middle + 1 :])
    print(json.dumps({name: about(name) for name in sorted(names)}))


main()
