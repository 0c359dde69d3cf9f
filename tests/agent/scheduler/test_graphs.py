"""The code of computations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster

from observatory.agent.scheduler.graphs import MAXIMUM_CODE, _code
from observatory.wire.client_code.submitted_code import frames_of_code


def test_graphs_of_one_function_have_its_source_once() -> None:
    frames = [
        (SimpleNamespace(code="def load(): ...", lineno_frame=line, filename="etl.py"),) for line in (2, 3)
    ]
    other = (SimpleNamespace(code="load()", lineno_frame=1, filename=""),)
    assert _code(SimpleNamespace(code=[*frames, other])) == "# etl.py\ndef load(): ...\n\nload()"


def test_the_source_of_a_frame_says_which_of_its_lines_submitted() -> None:
    code = "def load():\n    a = one.compute()\n\n    return two.compute()"
    frames = [
        (SimpleNamespace(code=code, lineno_frame=10 + place, lineno_relative=place, filename="etl.py"),)
        for place in (3, 1)
    ]
    assert _code(SimpleNamespace(code=frames)) == f"# etl.py, lines 11, 13 (from line 10)\n{code}"


def test_a_line_far_below_in_a_long_file_is_among_what_is_sent() -> None:
    lines = [f"value_{number} = {number}" for number in range(1, 40_001)]
    lines[29_999] = "the_total.compute()"
    frame = SimpleNamespace(
        code="\n".join(lines), lineno_frame=30_000, lineno_relative=29_999, filename="etl.py"
    )
    text = _code(SimpleNamespace(code=[(frame,)]))
    assert len(text) < MAXIMUM_CODE
    [part] = frames_of_code(text)
    assert (part.file, part.calls) == ("etl.py", (30_000,))
    assert part.source.split("\n")[30_000 - part.first] == "the_total.compute()"


@pytest.mark.parametrize(("line", "place"), [(3, 5), (3, -1), ("3", "1"), (None, None), (0, 0), (2, 2)])
def test_lines_that_can_not_be_are_left_out(line: Any, place: Any) -> None:
    frame = SimpleNamespace(code="a\nb", lineno_frame=line, lineno_relative=place, filename="etl.py")
    assert _code(SimpleNamespace(code=[(frame,)])) == "# etl.py\na\nb"


def test_a_real_scheduler_tells_the_line_that_computed() -> None:
    def submit() -> int:
        return int(dask.delayed(abs)(-1).compute())  # this line

    with (
        dask.config.set({"distributed.diagnostics.computations.nframes": 1}),
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        submit()
        [*_, frame] = frames_of_code(_code(cluster.scheduler.computations[-1]))
    [call] = frame.calls
    assert frame.source.split("\n")[call - frame.first].endswith("# this line")
