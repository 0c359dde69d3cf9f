"""The labels that a worker's own environment or configuration sets."""

from __future__ import annotations

from typing import Any

import dask
import pytest

from observatory.agent.release.schemas import check
from observatory.agent.worker.labels import LONGEST_VALUE, MOST_LABELS, VARIABLE, labels_of_process


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("version=2026.11,zone=b", {"version": "2026.11", "zone": "b"}),
        (" version = 2026.10 , ,", {"version": "2026.10"}),
        ("command=a=b", {"command": "a=b"}),
        ("alone,=value,host=x,none=y,zone=b", {"zone": "b"}),
        (f"long={'x' * (LONGEST_VALUE + 1)},tab=a\tb", {}),
        ("", {}),
    ],
)
def test_the_variable_has_names_and_values_and_what_is_none_is_left_out(
    monkeypatch: pytest.MonkeyPatch, text: str, labels: dict[str, str]
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert labels_of_process() == labels


@pytest.mark.parametrize(
    ("told", "labels"),
    [
        ({"version": "2026.11", "replicas": 3}, {"version": "2026.11", "replicas": "3"}),
        ("zone=b", {"zone": "b"}),
        ({"nested": {"a": 1}, "list": [1], "nothing": None}, {}),
        (7, {}),
        (None, {}),
    ],
)
def test_the_configuration_is_read_without_the_variable(
    monkeypatch: pytest.MonkeyPatch, told: Any, labels: dict[str, str]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with dask.config.set({"observatory.labels": told}):
        assert labels_of_process() == labels
        monkeypatch.setenv(VARIABLE, "zone=c")
        assert labels_of_process() == {"zone": "c"}


def test_a_worker_has_few_labels_and_what_is_left_out_is_logged_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, ",".join(f"label-{number}={number}" for number in range(MOST_LABELS + 100)))
    assert len(labels_of_process()) == MOST_LABELS
    [record] = [each for each in caplog.records if each.name == "distributed.observatory.labels"]
    assert f"label-{MOST_LABELS}" in record.getMessage()
    assert len(record.getMessage()) < 1000


def test_a_release_can_set_labels_of_its_workers() -> None:
    assert list(check({"observatory": {"labels": {"version": "2026.11"}}})) == []
    [problem] = check({"observatory": {"labels": ["a"]}})
    assert (problem.key, problem.is_error) == ("observatory.labels", True)
