"""What ends the code of a run is told with its message and traceback, as an event."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import observatory
import observatory.agent
from observatory.agent.run_exception import TRACEBACK
from observatory.runs.errors.places import place_of
from observatory.wire.client_code.runs import LONGEST_MESSAGE, LONGEST_TRACEBACK
from observatory.wire.event_kinds import RUN_RAISED
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server

HOSTILE = "<img src=x onerror=alert(1)>\x00\n\ud800"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("not even this")


def read_orders() -> None:
    try:
        dict[str, int]()["orders"]
    except KeyError as error:
        raise RuntimeError("no orders today") from error


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def received(client: Client, tmp_path: Path) -> Iterator[FakeServer]:
    with fake_server() as received:
        observatory.agent.register(
            client, url=received.url, token=TOKEN, spool_directory=str(tmp_path), flush_interval=0.1
        )
        yield received
        observatory.agent.unregister(client)


def test_an_exception_of_a_runs_code_is_an_event_with_its_message_and_traceback(
    client: Client, received: FakeServer
) -> None:
    with pytest.raises(RuntimeError), observatory.run("etl", client=client):
        read_orders()
    [event] = eventually(lambda: received.events(RUN_RAISED))
    detail = event["detail"]
    ended = received.rows["run"][-1]
    assert (detail["run"], event["time"]) == (ended["run"], ended["time"])
    assert (detail["exception_type"], detail["exception_message"]) == ("RuntimeError", "no orders today")
    assert detail["message"] == "the code of a run raised RuntimeError: no orders today"
    assert "KeyError: 'orders'" in detail["traceback"], "what led to it"
    place = place_of(detail["traceback"])
    assert (place.function, place.file) == ("read_orders", "test_run_exceptions.py")


def test_a_run_that_ends_well_or_by_exit_0_has_raised_nothing(client: Client, received: FakeServer) -> None:
    with observatory.run("fine", client=client):
        pass
    with pytest.raises(SystemExit), observatory.run("exits", client=client):
        sys.exit(0)
    eventually(lambda: len(received.rows["run"]) == 4)
    assert received.events(RUN_RAISED) == []


def raise_deep(depth: int) -> None:
    if depth:
        return raise_deep(depth - 1)
    raise ValueError("deep")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError(HOSTILE), "<img src=x onerror=alert(1)>\ufffd \ufffd"),
        (Unprintable(), "<Unprintable>"),
        (KeyboardInterrupt(), ""),
        (TypeError(f"no pickle\n{TRACEBACK}  File 'x'"), "no pickle"),
    ],
    ids=["hostile", "unprintable", "interrupt", "with a traceback"],
)
def test_whatever_is_raised_can_be_stored(
    client: Client, received: FakeServer, error: BaseException, message: str
) -> None:
    with pytest.raises(type(error)), observatory.run("odd", client=client):
        raise error
    [event] = eventually(lambda: received.events(RUN_RAISED))
    assert event["detail"]["exception_message"] == message
    assert received.refused == 0


def test_long_messages_and_tracebacks_are_cut_and_keep_where_it_was_raised(
    client: Client, received: FakeServer
) -> None:
    with pytest.raises(ValueError, match="long"), observatory.run("long", client=client):
        raise ValueError("long " * 100_000)
    with pytest.raises(ValueError, match="deep"), observatory.run("deep", client=client):
        raise_deep(500)
    eventually(lambda: len(received.events(RUN_RAISED)) == 2)
    long, deep = (event["detail"] for event in received.events(RUN_RAISED))
    assert len(long["exception_message"]) == LONGEST_MESSAGE
    assert len(long["traceback"]) == LONGEST_TRACEBACK
    assert len(deep["traceback"]) < LONGEST_TRACEBACK
    assert place_of(deep["traceback"]).function == "raise_deep"
