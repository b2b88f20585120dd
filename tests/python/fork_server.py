"""Runs programs in processes that have made their imports already: each is a fork of this one.

    python fork_server.py IMPORTS

A line of JSON on stdin is a program: its source, its whole environment, the files for what it
prints, and whether torch is to end too. The answer is a line with its exit code. A program starts
at the top level of `__main__` and leaves there, so that the interpreter ends as it does after
`python -c`. Before it starts, torch loads the backend in the program's environment, as the
program's first `import torch` would have.
"""

import builtins
import ctypes
import gc
import json
import os
import sys
import types

exec(sys.argv[1])
# A program's own objects are collected as ever. To look at all that was imported too, at the end of
# each program, would copy most of this process's memory into it: half of what a program costs.
gc.collect()
gc.freeze()


libc = ctypes.CDLL(None)


def leave_before_torch() -> None:
    """Lets this process end when it has done what exit() does for the backend and for whatever else
    is loaded from now on. What is loaded already takes all its operators back at exit(), which is
    half of what a program costs."""
    libc.on_exit(libc._exit, None)  # the last that is called is what came first
    libc.on_exit(libc.fcloseall, None)


def serve() -> str:
    """Returns the source of a program, in the process that is to run it."""
    for line in sys.stdin:
        program = json.loads(line)
        child = os.fork()
        if child == 0:
            for number, file, flags in (
                (0, os.devnull, os.O_RDONLY),
                (1, program["stdout"], os.O_WRONLY),
                (2, program["stderr"], os.O_WRONLY),
            ):
                opened = os.open(file, flags)
                os.dup2(opened, number)
                os.close(opened)
            become(program["environment"])
            if not program["ends_torch"]:
                leave_before_torch()
            return program["source"]
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()


def become(environment: dict[str, str]) -> None:
    """Makes this process what `python -c` would be in that environment, after `import torch`."""
    inherited = path_of(os.environ)
    found = [folder for folder in sys.path[1:] if folder not in inherited]
    os.environ.clear()  # and what getenv finds
    os.environ.update(environment)
    sys.argv, sys.path[:] = ["-c"], ["", *path_of(environment), *found]


def path_of(environment) -> list[str]:
    return [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]


# In a module of its own, which is not frozen and ends with the program, while torch is still there.
source = serve()
sys.modules["__main__"] = types.ModuleType("__main__")
vars(sys.modules["__main__"])["__builtins__"] = builtins

import torch  # noqa: E402

if torch._is_device_backend_autoload_enabled():
    torch._import_device_backends()
torch.default_generator.seed()  # drawn at the import, so that all programs would have one
exec(compile(source, "<string>", "exec"), vars(sys.modules["__main__"]))
