"""Arguments of failed tasks, whatever their `repr` does."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from observatory.agent.worker.failures.representation import LONGEST, UNFINISHED, Representations, represent


class Raising:
    def __repr__(self) -> str:
        raise SystemExit("no")


class Endless(dict[str, int]):
    def __repr__(self) -> str:
        raise AssertionError("a container's own repr is not called")


class Stuck:
    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.calls = 0

    def __repr__(self) -> str:
        self.calls += 1
        self.go_on.wait()
        return "late"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "1"),
        ("a\nb", r"'a\nb'"),
        ("x" * 1_000_000, repr("x" * 100) + "…"),
        (b"x" * 1_000_000, repr(b"x" * 100) + "…"),
        (1 << 100_000, "<int of 100001 bits>"),
        (list(range(100_000)), "[0, 1, 2, 3, 4, 5, … 99994 more]"),
        ({"a": (1, {2})}, "{'a': (1, {2})}"),
        ([[[[1]]]], "[[[[…]]]]"),
        (Raising(), "<Raising, whose repr raised SystemExit>"),
        (Endless(a=1), "{'a': 1}"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_represented_in_bounded_length(value: Any, shown: str) -> None:
    assert represent(value) == shown


def test_arguments_are_lines_and_only_the_first_twenty() -> None:
    described = Representations().describe([1, "a", Raising()], {"axis": 0})
    assert described.split("\n") == ["1", "'a'", "<Raising, whose repr raised SystemExit>", "axis=0"]
    lines = Representations().describe(["x" * 99] * 50, {"y": ["z" * 99] * 50}).split("\n")
    assert len(lines) == 21
    assert lines[-1] == "(31 more)"
    assert max(map(len, lines)) <= LONGEST


def test_a_repr_that_does_not_end_is_left_alone_and_never_called_beside_itself() -> None:
    representations, stuck = Representations(), Stuck()
    try:
        assert representations.describe([7, stuck, 8], {}) == f"7\n{UNFINISHED}"
        assert representations.describe([stuck], {}) == UNFINISHED
        assert stuck.calls == 1
    finally:
        stuck.go_on.set()
