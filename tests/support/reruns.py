"""Why tests had to run once more: pytest-rerunfailures only names them."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"rerun: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
