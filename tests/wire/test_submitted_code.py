"""The text of code that submitted tasks, its frames, and the lines around their calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.wire.client_code.submitted_code import Frame, around_calls, code_of_frames, frames_of_code

SOURCE = "\n".join(f"line {number}" for number in range(5, 105))


def test_a_text_has_the_frames_that_it_was_made_of() -> None:
    frames = [
        Frame("def main():\n    load()", "/home/anna/run, line 7.py", 3, (4,)),
        Frame(SOURCE, "etl.py", 5, (7, 40)),
    ]
    assert frames_of_code(code_of_frames(frames)) == frames


@pytest.mark.parametrize(
    "text", ["# etl.py\ndef load(): ...", "load()", "x\n# a.py, line 1 (from line 1)\ny"]
)
def test_what_has_no_lines_is_one_frame_as_it_is(text: str) -> None:
    assert frames_of_code(text) == [Frame(text)]
    assert list(around_calls(frames_of_code(text), 1, 1)) == [Frame(text)]


def test_calls_that_are_near_are_shown_together_and_others_apart() -> None:
    found = list(around_calls([Frame(SOURCE, "etl.py", 5, (7, 9, 60, 104))], 1, 2))
    assert [(one.first, one.calls, one.source.split("\n")[0]) for one in found] == [
        (6, (7, 9), "line 6"),
        (59, (60,), "line 59"),
        (103, (104,), "line 103"),
    ]
    assert [one.source.count("\n") + 1 for one in found] == [6, 4, 2]


def test_a_call_outside_of_the_source_leaves_it_whole() -> None:
    frame = Frame("a\nb", "etl.py", 5, (99,))
    assert list(around_calls([frame], 1, 1)) == [frame]


@given(st.text(max_size=300), st.integers(0, 5), st.integers(0, 5))
def test_any_text_can_be_read(text: str, before: int, after: int) -> None:
    for prefix in ("", "# a, line 1, 2 (from line 1)\n", "# b, lines 999999999 (from line 0)\n"):
        list(around_calls(frames_of_code(prefix + text), before, after))
