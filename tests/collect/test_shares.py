"""A project's batches wait for one another, and not for those of another project."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.db import connection

from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_tokens
from observatory.collect.agents import ingest
from observatory.store.places.shares import Busy, Shares
from tests.collect.agents import Agent, agent, count, project

__all__ = ["agent", "count", "project"]

LONG_WAIT = 300.0
"""seconds: longer than any test waits"""
A, B, C = range(3)


class Holding:
    """Requests that hold their place until they are told to end."""

    def __init__(self, shares: Shares, pool: ThreadPoolExecutor) -> None:
        self.shares, self.pool = shares, pool
        self.order: list[int] = []
        self._events: list[threading.Event] = []

    def start(self, project: int, number: int = 1) -> list[tuple[threading.Event, Future[None]]]:
        """One request after the other, each of which has a place or waits for one."""
        started = []
        for _ in range(number):
            end, came = threading.Event(), threading.Event()
            self._events.append(end)
            before = sum(map(len, self.shares.places._queues.values())) + len(self.order)
            future = self.pool.submit(self._hold, project, end, came)
            while sum(map(len, self.shares.places._queues.values())) + len(self.order) == before:
                came.wait(0.001)
            started.append((end, future))
        return started

    def _hold(self, project: int, end: threading.Event, came: threading.Event) -> None:
        with self.shares.place(project):
            self.order.append(project)
            came.set()
            end.wait(LONG_WAIT)

    def end(self) -> None:
        for event in self._events:
            event.set()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as pool:
        yield pool


@contextmanager
def holding(pool: ThreadPoolExecutor, shares: Shares) -> Iterator[Holding]:
    holding = Holding(shares, pool)
    try:
        yield holding
    finally:
        holding.end()


def test_a_project_holds_half_of_the_places_and_another_gets_one_at_once(pool: ThreadPoolExecutor) -> None:
    with holding(pool, Shares(4, 10, LONG_WAIT)) as requests:
        requests.start(A, 6)
        assert requests.order == [A, A]
        requests.start(B)
        assert requests.order == [A, A, B]


def test_the_last_place_is_for_a_project_that_has_none(pool: ThreadPoolExecutor) -> None:
    with holding(pool, Shares(4, 10, LONG_WAIT)) as requests:
        requests.start(A, 3)
        requests.start(B, 3)
        assert requests.order == [A, A, B]
        requests.start(C)
        assert requests.order == [A, A, B, C]


def test_projects_that_wait_take_turns(pool: ThreadPoolExecutor) -> None:
    with holding(pool, Shares(1, 10, LONG_WAIT)) as requests:
        started = [*requests.start(A, 4), *requests.start(B, 2), *requests.start(C)]
        requests.end()
        for _, future in started:
            future.result(LONG_WAIT)
    assert requests.order == [A, A, B, C, A, B, A]


def test_who_waits_too_long_or_too_many_at_once_is_told_so(pool: ThreadPoolExecutor) -> None:
    shares = Shares(2, 1, 0.05)
    with holding(pool, shares) as requests:
        started = requests.start(A)
        with pytest.raises(Busy), shares.place(A):
            pass
        shares.timeout = LONG_WAIT
        started += requests.start(A)  # waits
        with pytest.raises(Busy), shares.place(A):
            pass
        requests.end()
        for _, future in started:
            future.result(LONG_WAIT)
    with shares.place(A), shares.place(B):
        pass  # nothing is left of them


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> Shares:
    shares = Shares(4, 2, 0.2)
    monkeypatch.setattr(ingest, "SHARES", shares)
    return shares


def test_a_project_whose_share_is_in_use_is_answered_429_and_another_is_stored(
    agent: Agent, project: Project, count: Any, shares: Shares
) -> None:
    other = Project.objects.create(name="Other", slug="other")
    stranger = Agent(ingest_tokens.make(other, "t", None)[1])
    with ExitStack() as places:
        for _ in range(shares.places.most):
            places.enter_context(shares.place(project.pk))
        body = agent.body({"span": [agent.span(1)]})
        assert agent.post(body) == 429
        assert agent.headers["Retry-After"] == "2"
        assert agent.answer["detail"].startswith("the project's other batches take its share")
        assert stranger.send({"span": [stranger.span(1)]}) == 200
    assert agent.post(body) == 200
    assert count("span") == 2


def test_a_request_that_waits_holds_no_connection_to_the_database(
    agent: Agent, project: Project, shares: Shares, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process has twelve for all of its pages."""
    held: list[bool] = []
    take: Callable[[int], None] = shares.take

    def noted(project: int) -> None:
        held.append(connection.connection is not None)
        take(project)

    with shares.place(project.pk), shares.place(project.pk):
        monkeypatch.setattr(shares, "take", noted)
        assert agent.send({"span": [agent.span(1)]}) == 429
    assert held == [False]
