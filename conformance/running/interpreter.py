"""How the processes of a run are started: with what is installed, whatever lies in the folder."""

from __future__ import annotations

import sys

# As `python -m`, but that the current folder comes last: a file json.py there, or the sources of
# a backend that is installed too, would be imported in place of what is meant.
_RUN = (
    "import sys; '' in sys.path[:1] and sys.path.append(sys.path.pop(0)); import runpy; "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def command(module: str, *arguments: str) -> list[str]:
    """Runs `module` as the program of a new Python."""
    return [sys.executable, "-c", _RUN, module, *arguments]
