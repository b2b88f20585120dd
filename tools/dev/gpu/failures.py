"""A plugin of pytest: prints each failure when it happens. A run that is ended has no summary."""

import pytest

_LINES = 12  # the end of a failure's text, which has the error


class Failures:
    def __init__(self, terminal) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.failed:
            return
        end = report.longreprtext.splitlines()[-_LINES:]
        self._terminal.write_line("\n".join([f"--- {report.nodeid}, {report.when}", *end, "---"]))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """In the process that reports: those of pytest-xdist have no terminal."""
    if terminal := config.pluginmanager.get_plugin("terminalreporter"):
        config.pluginmanager.register(Failures(terminal))
