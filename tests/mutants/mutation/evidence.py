"""Whether a test has failed, and not something before or around it."""

import re

# How pytest, GoogleTest and ctest say it; and a process of tests that was killed by a signal, which
# ./dev says.
_FAILURES = re.compile(
    r"""
    ^FAILED[ ](?P<pytest>\S+::\S+)
    | ^(?:\d+:[ ])?\[[ ]{2}FAILED[ ]{2}\][ ](?P<gtest>[\w/]+\.[^\s,]+)
    | ^\s*\d+[ ]-[ ](?P<ctest>\S+)[ ]\((?!Not[ ]Run|Timeout)
    | (?P<crash>\S+[ ]failed[ ]with[ ]exit[ ]code[ ]-\d+)
    """,
    re.MULTILINE | re.VERBOSE,
)


def failed_test(output: str) -> str:
    """The name of a test that failed, out of what ./dev test printed; "" where there is none."""
    found = _FAILURES.search(output)
    return next(filter(None, found.groups())) if found else ""
