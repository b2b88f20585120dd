"""Runs programs in processes that have made their imports already: each is a fork of this one.

    python fork_server.py IMPORTS

A line of JSON on stdin is a program: its source, what it adds to the environment, and the files for
what it prints. The answer is a line with its exit code. A program starts at the top level of
`__main__` and leaves there, so that the interpreter ends as it does after `python -c`.
"""

import json
import os
import sys

exec(sys.argv[1])


def serve() -> str:
    """Returns the source of a program, in the process that is to run it."""
    for line in sys.stdin:
        program = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ.update(program["environment"])
            for number, file, flags in (
                (0, os.devnull, os.O_RDONLY),
                (1, program["stdout"], os.O_WRONLY),
                (2, program["stderr"], os.O_WRONLY),
            ):
                opened = os.open(file, flags)
                os.dup2(opened, number)
                os.close(opened)
            return program["source"]
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()


source = serve()
sys.argv, sys.path[0] = ["-c"], ""
for name in [name for name in globals() if not name.startswith("__") and name != "source"]:
    del globals()[name]
del name
exec(compile(source, "<string>", "exec"), globals())
