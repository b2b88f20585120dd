"""Checks that end or block their process, with one that does not after each."""

import atexit
import ctypes
import os
import signal
import sys
import time

from conformance.backend import Backend
from conformance.check import Check, check


@check()
def aborts(_: Backend) -> None:
    """It does not abort."""
    os.abort()


@check()
def segfaults(_: Backend) -> None:
    """It does not touch what it has not."""
    ctypes.string_at(0)


@check()
def ends_by_a_signal_without_a_name(_: Backend) -> None:
    """It is not ended by a real-time signal."""
    os.kill(os.getpid(), signal.SIGRTMIN + 3)


@check()
def exits_with_zero(_: Backend) -> None:
    """It does not say that all is well."""
    os._exit(0)


@check()
def exits_as_python_does(_: Backend) -> None:
    """It does not end the interpreter."""
    sys.exit(3)


@check()
def hangs(_: Backend) -> None:
    """It comes to an end."""
    time.sleep(3600)


@check()
def hangs_with_a_child(_: Backend) -> None:
    """What it started holds its pipe open."""
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(1)


@check()
def forks_and_comes_back_twice(_: Backend) -> None:
    """A child that nobody ends does not run the other checks once more."""
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 70


@check()
def leaks_an_exit_code(_: Backend) -> None:
    """It leaves nothing for the end of the process."""
    atexit.register(os._exit, 5)


@check(alone=True)
def leaks_an_exit_code_alone(_: Backend) -> None:
    """It leaves nothing for the end of the process."""
    atexit.register(os._exit, 6)


def _passes(_: Backend) -> None:
    """It passes whatever was before it."""


def checks(_: Backend) -> list[Check]:
    return [Check(_passes, variant=str(number)) for number in range(4)]
