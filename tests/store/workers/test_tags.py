"""What workers can be grouped, filtered and compared by."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.store.workers.tags import LONGEST, MOST_TAGS, UNKNOWN, group_of, tags_of


def test_labels_come_first_and_replace_what_a_worker_tells_by_itself() -> None:
    detail = {
        "python": "3.12.1",
        "machine": ["m5.large", "Amazon"],
        "release": {"name": "7"},
        "surroundings": {"SLURM_JOB_ID": "9"},
        "labels": {"version": "a", "release": "canary"},
    }
    assert tags_of({"GPU": 1.0, "memory": 0.5}, detail) == {
        "version": "a",
        "release": "canary",
        "resource GPU": "1",
        "resource memory": "0.5",
        "machine": "m5.large Amazon",
        "Python": "3.12.1",
        "SLURM_JOB_ID": "9",
    }


@pytest.mark.parametrize(
    "hostile", [None, [], "a", 7, {"labels": []}, {"labels": "a=b"}, {"surroundings": 1}]
)
def test_what_is_no_label_is_none(hostile: Any) -> None:
    assert tags_of(hostile if not isinstance(hostile, dict) else {}, hostile) == {}


def test_labels_are_bounded_and_never_called_as_the_host_is() -> None:
    labels = {
        "host": "x",
        "none": "y",
        "": "",
        **{f"{number:03}" * 100: "v" * 1_000 for number in range(100)},
    }
    tags = tags_of({"R" * 500: 1e400, "nested": {"a": [1]}}, {"labels": labels})
    assert len(tags) == MOST_TAGS
    assert all(0 < len(name) <= LONGEST and 0 < len(value) <= LONGEST for name, value in tags.items())
    assert {"host", "none"}.isdisjoint(tags)


def test_a_worker_without_the_label_is_unknown() -> None:
    assert group_of({"version": "a"}, "10.0.0.1", "version") == "a"
    assert group_of({"version": "a"}, "10.0.0.1", "zone") == UNKNOWN
    assert group_of({}, "10.0.0.1", "host") == "10.0.0.1"
    assert group_of({}, "", "host") == UNKNOWN
