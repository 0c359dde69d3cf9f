"""In which order the processes of pytest-xdist take the modules; `durations.json` has their durations."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

DURATIONS = Path(__file__).with_name("durations.json")
SHORT = 3.0
"""seconds: shorter modules aren't listed"""


class FromBothEnds(LoadFileScheduling):
    """Half of the processes take the longest modules first, the others the shortest that are listed.

    The longest ones start whole Observatories and clusters, and wait: two of them at a time leave the
    processors time for the rest. Those that aren't listed come last, so that all processes end together.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._durations = json.loads(DURATIONS.read_text())

    def _assign_work_unit(self, node: WorkerController) -> None:
        takes_longest = self.nodes.index(node) % 2 == 0
        choose = max if takes_longest else min
        listed = [scope for scope in self.workqueue if scope in self._durations]
        chosen = choose(listed or self.workqueue, key=lambda scope: self._durations.get(scope, 0.0))
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-durations", action="store_true", help=f"write how long the modules took to {DURATIONS.name}"
    )


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FromBothEnds | None:
    return FromBothEnds(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("update_durations"):
        return
    took: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took[report.nodeid.split("::")[0]] += report.duration
    known = json.loads(DURATIONS.read_text())
    kept = {**{module: known[module] for module in known if (config.rootpath / module).exists()}, **took}
    listed = {module: round(float(seconds)) for module, seconds in sorted(kept.items()) if seconds >= SHORT}
    DURATIONS.write_text(json.dumps(listed, indent=1) + "\n")
