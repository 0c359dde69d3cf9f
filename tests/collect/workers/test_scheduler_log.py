"""Why workers left, as the scheduler's page of logs tells it."""

from __future__ import annotations

import html

import pytest

from observatory.collect.workers.scheduler_log import read_scheduler_log
from observatory.wire.workers.departures import BROKEN, CLOSED_BY_SCHEDULER, OVERDUE, RESTARTED, reason_of

A, B = "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"


def page(*lines: str) -> bytes:
    """The page of these messages, of which the first is the oldest."""
    before = "2026-11-28 05:24:57,959 - distributed.scheduler - INFO - "
    return "\n".join(f"<p> {html.escape(before + line)} </p>" for line in reversed(lines)).encode()


def removed(address: str, stimulus: str, name: str = "w0") -> str:
    return f"Remove worker addr: {address} name: {name} (stimulus_id='{stimulus}')"


def registered(address: str, name: str = "w0") -> str:
    return f"Register worker addr: {address} name: {name}"


def reasons(*lines: str, of: str = A) -> list[object]:
    return [removal.reason for removal in read_scheduler_log(page(*lines)).get(of, [])]


@pytest.mark.parametrize(
    ("stimulus", "reason"),
    [
        ("retire-workers-1795843475.05", "retired"),
        ("worker-close-gracefully-1795843475.05", "retired"),
        ("nanny-close-1795843475.05", "removed"),
        ("check-worker-ttl-1795843475.05", "lost"),
        ("of-another-version-1795843475.05", "removed"),
    ],
)
def test_the_stimulus_is_the_reason(stimulus: str, reason: str) -> None:
    [removal] = read_scheduler_log(page(registered(A), removed(A, stimulus)))[A]
    assert (removal.reason, removal.reason.reason) == (reason_of(stimulus), reason)
    assert removal.time == 1795843475.05


def test_a_broken_connection_is_no_reason_by_itself() -> None:
    assert reasons(registered(A), removed(A, "handle-worker-cleanup-100.5")) == [BROKEN]


def test_a_restarted_worker_leaves_on_purpose_and_later_breaks_of_its_address_are_not() -> None:
    restart = f"Restarting 1 workers: ['{A}'] (stimulus_id='client-restart-workers-100.0'"
    broken = removed(A, "handle-worker-cleanup-100.5")
    assert reasons(registered(A), restart, broken) == [RESTARTED]
    assert reasons(registered(B), restart, removed(B, "handle-worker-cleanup-100.5"), of=B) == [BROKEN]
    late = removed(A, "handle-worker-cleanup-400.0")
    assert reasons(registered(A), restart, late) == [BROKEN]
    again = [registered(A), removed(A, "handle-worker-cleanup-103.0")]
    assert reasons(registered(A), restart, broken, *again) == [RESTARTED, BROKEN]


def test_a_restart_of_all_workers_is_of_those_that_were_there() -> None:
    restart = "Restarting all workers (stimulus_id='client-restart-100.0'"
    lines = [registered(A), restart, removed(A, "handle-worker-cleanup-101.0"), registered(B)]
    lines += [removed(B, "handle-worker-cleanup-102.0")]
    assert reasons(*lines) == [RESTARTED]
    assert reasons(*lines, of=B) == [BROKEN]


def test_a_worker_that_the_scheduler_closes_leaves_on_purpose() -> None:
    lines = [registered(A), f"Closing worker {A}", removed(A, "handle-worker-cleanup-101.0")]
    assert reasons(*lines) == [CLOSED_BY_SCHEDULER]
    assert reasons(*lines[:2], *lines) == [CLOSED_BY_SCHEDULER]
    assert reasons(*lines[:2], registered(A), lines[2]) == [BROKEN]


def test_a_name_and_other_lines_cannot_forge_another_workers_reason() -> None:
    name = f"x (stimulus_id='retire-workers-1')</p><p> {removed(B, 'retire-workers-2')}"
    forged = removed(A, "check-worker-ttl-100.0", name)
    found = read_scheduler_log(page(registered(A, name), forged, removed(B, "handle-worker-cleanup-101.0")))
    assert [removal.reason for removal in found[A]] == [OVERDUE]
    assert [removal.reason for removal in found[B]] == [BROKEN]


def test_a_page_that_is_cut_off_or_is_another_page_has_what_is_whole() -> None:
    whole = page(registered(A), removed(B, "retire-workers-99.0"), removed(A, "retire-workers-100.0"))
    assert list(read_scheduler_log(whole[: whole.index(b"</p>") + 20])) == [A]
    assert read_scheduler_log(b"") == read_scheduler_log(b"\xff<html><p>Remove worker addr: </p>") == {}
