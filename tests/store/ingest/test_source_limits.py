"""What a source begins in an hour is counted by all processes together, and by each without Redis."""

from __future__ import annotations

from datetime import date, timedelta
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from redis.exceptions import ConnectionError as RedisConnectionError

from observatory.store.ingest import source_limits
from observatory.store.ingest.source_limits import (
    MOST_DAYS,
    PERIOD,
    Rows,
    SourceLimit,
    SourceLimits,
    TooManyInBatch,
    TooManyNew,
)

DAYS = [date(2020, 1, 1) + timedelta(days) for days in range(3 * MOST_DAYS)]


@pytest.fixture
def source() -> SourceLimit:
    return SourceLimit(f"project {uuid4()}", can_wait=True)


@pytest.fixture
def processes() -> tuple[SourceLimits, SourceLimits]:
    """The limits of two processes that share the real Valkey."""
    return SourceLimits(), SourceLimits()


def few(monkeypatch: pytest.MonkeyPatch, rows: Rows, most: int) -> None:
    monkeypatch.setitem(source_limits.MOST_ROWS, rows, most)  # type: ignore[arg-type]


def test_two_processes_together_permit_a_source_its_days(
    processes: tuple[SourceLimits, SourceLimits], source: SourceLimit
) -> None:
    one, other = processes
    half = MOST_DAYS // 2
    assert one.permit_days(source, set(DAYS[:half])) == set(DAYS[:half])
    assert other.permit_days(source, set(DAYS[half:MOST_DAYS])) == set(DAYS[half:MOST_DAYS])
    for process in processes:
        with pytest.raises(TooManyNew, match="more than 10 new days may not begin in an hour") as refused:
            process.permit_days(source, {DAYS[MOST_DAYS]})
        assert PERIOD - 60 < refused.value.seconds <= PERIOD
        assert process.permit_days(source, {DAYS[0], DAYS[half]}) == {DAYS[0], DAYS[half]}
    stranger = SourceLimit(f"project {uuid4()}", can_wait=True)
    assert other.permit_days(stranger, {DAYS[MOST_DAYS]}) == {DAYS[MOST_DAYS]}


def test_of_more_days_than_ever_begin_the_latest_are_permitted(
    processes: tuple[SourceLimits, SourceLimits], source: SourceLimit
) -> None:
    assert processes[0].permit_days(source, set(DAYS)) == set(DAYS[-MOST_DAYS:])
    waits_not = SourceLimit(source.source)
    assert processes[1].permit_days(waits_not, set(DAYS)) == set(DAYS[-MOST_DAYS:])
    assert processes[1].permit_days(waits_not, set(DAYS[:3])) == set()


def test_two_processes_together_permit_a_source_its_names(
    processes: tuple[SourceLimits, SourceLimits], source: SourceLimit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_limits, "MOST_NAMES", 100)
    one, other = processes
    assert [one.permit_names(source.source, 60), other.permit_names(source.source, 60)] == [60, 40]
    assert [one.permit_names(source.source, 1), other.permit_names(source.source, 1)] == [0, 0]
    assert other.permit_names(f"project {uuid4()}", 60) == 60


def test_two_processes_together_permit_a_source_its_rows_and_one_batch_too_many_takes_none(
    processes: tuple[SourceLimits, SourceLimits], source: SourceLimit, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, Rows.REFERRED, 100)
    one, other = processes
    one.require(source, Rows.REFERRED, 70)
    with pytest.raises(TooManyNew, match="more than 100 new workers, threads, series and stacks"):
        other.require(source, Rows.REFERRED, 70)
    other.require(source, Rows.REFERRED, 30)
    with pytest.raises(TooManyInBatch, match="the batch has 101 new workers"):
        other.require(source, Rows.REFERRED, 101)
    other.require(SourceLimit(source.source), Rows.REFERRED, 1_000)  # a scheduler that is scraped can't wait


def test_another_hour_permits_as_much_again(
    processes: tuple[SourceLimits, SourceLimits], source: SourceLimit, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, Rows.CLUSTERS, 1)
    processes[0].require(source, Rows.CLUSTERS, 1)
    with pytest.raises(TooManyNew) as refused:
        processes[1].require(source, Rows.CLUSTERS, 1)
    now = source_limits.time.time() + refused.value.seconds
    monkeypatch.setattr(source_limits.time, "time", lambda: now)
    processes[1].require(source, Rows.CLUSTERS, 1)


def test_without_redis_each_process_counts_for_itself(
    source: SourceLimit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_away(*_: object) -> None:
        raise RedisConnectionError("away")

    few(monkeypatch, Rows.REFERRED, 10)
    shared = LocMemCache(uuid4().hex, {})
    for call in ("get_many", "add"):
        monkeypatch.setattr(shared, call, is_away)
    for limits in (SourceLimits(shared), SourceLimits(shared)):
        assert limits.permit_days(source, set(DAYS[:MOST_DAYS])) == set(DAYS[:MOST_DAYS])
        with pytest.raises(TooManyNew):
            limits.permit_days(source, {DAYS[-1]})
        limits.require(source, Rows.REFERRED, 10)
        with pytest.raises(TooManyNew):
            limits.require(source, Rows.REFERRED, 1)


def test_the_counts_leave_redis_again(
    source: SourceLimit, processes: tuple[SourceLimits, SourceLimits]
) -> None:
    processes[0].permit_days(source, {DAYS[0]})
    processes[0].permit_names(source.source, 5)
    client = cache._cache.get_client(None, write=True)  # type: ignore[attr-defined]
    keys = [key for key in client.scan_iter("*") if source.source.replace(" ", "-").encode() in key]
    assert len(keys) == 2
    assert all(0 < client.ttl(key) <= 2 * PERIOD for key in keys)
