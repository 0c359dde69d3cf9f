"""Errors of tasks on a real cluster, as an agent reports them."""

from __future__ import annotations

import os
import signal
import sys
import time

import dask
import pytest
from distributed import Client, wait

import observatory.agent
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


def fail(number: int) -> None:
    raise KeyError(f"no {number}")


def fail_because_of_another(number: int) -> None:
    try:
        try:
            fail(number)
        except KeyError:
            raise ValueError("second")  # noqa: B904
    except ValueError as error:
        raise RuntimeError("third") from error


def fail_as_a_group(members: int) -> None:
    errors = []
    for number in range(members):
        try:
            fail(number)
        except KeyError as error:
            errors.append(error)
    raise ExceptionGroup(f"{members} of them", errors)  # type: ignore[name-defined,unused-ignore]


def exit_process(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(7)


def fail_with_arguments(number: int, values: list[int], unit: str = "") -> None:
    raise KeyError(number)


def increment(number: int) -> int:
    return number + 1


def test_each_attempt_of_a_failing_task_is_recorded_with_its_traceback(
    client: Client, received: FakeServer
) -> None:
    future = client.submit(fail, 1, retries=2, pure=False)
    wait(future)
    errors = eventually(lambda: received.rows["error"] if len(received.rows["error"]) == 3 else None)
    assert [(error["outcome"], error["retries"]) for error in errors] == [
        ("retried", 1),
        ("retried", 0),
        ("erred", 0),
    ]
    assert {error["key"] for error in errors} == {future.key}
    assert {error["exception_type"] for error in errors} == {"KeyError"}
    assert {error["message"] for error in errors} == {"no 1"}
    assert all("in fail" in error["traceback"] for error in errors)
    assert set(errors[-1]["workers"]) <= set(client.scheduler_info()["workers"])
    spans = eventually(lambda: [row for row in received.rows["span"] if row["key"] == future.key])
    assert [span["status"] for span in spans] == [1, 1, 1]


def test_an_error_has_the_name_of_the_function_and_no_arguments_unless_a_setting_asks_for_them(
    client: Client, received: FakeServer
) -> None:
    wait(client.submit(fail_with_arguments, 1, [2, 3], unit="secret", key="a-key-of-its-own"))
    [error] = eventually(lambda: received.rows["error"])
    assert (error["function"], error["arguments"]) == ("fail_with_arguments", "")


def test_the_worker_represents_the_arguments_of_a_failed_task_where_the_setting_asks_for_them(
    client: Client,
) -> None:
    client.wait_for_workers(2, timeout=180)
    with fake_server() as received:
        observatory.agent.register(
            client, url=received.url, token=TOKEN, flush_interval="100ms", error_arguments=True
        )
        number = client.submit(increment, 1, key="number")
        wait(client.submit(fail_with_arguments, number, list(range(100)), unit="cm", pure=False))
        [error] = eventually(lambda: received.rows["error"])
        observatory.agent.unregister(client)
    assert error["function"] == "fail_with_arguments"
    assert error["arguments"].split("\n") == [
        "<result of 'number'>",
        "[0, 1, 2, 3, 4, 5, … 94 more]",
        "unit='cm'",
    ]
    assert received.refused == 0


def test_the_exceptions_that_led_to_another_are_in_its_traceback_as_python_prints_them(
    client: Client, received: FakeServer
) -> None:
    wait(client.submit(fail_because_of_another, 3, pure=False))
    [error] = eventually(lambda: received.rows["error"])
    trace = error["traceback"]
    found = [
        "KeyError: 'no 3'\n",
        "During handling of the above exception",
        "ValueError: second\n",
        "The above exception was the direct cause",
        "in fail_because_of_another",
    ]
    places = [trace.rindex(text) for text in found]
    assert places == sorted(places)
    assert trace.count("Traceback (most recent call last)") == 3
    assert (error["exception_type"], error["message"]) == ("RuntimeError", "third")
    assert not any("causes" in row["detail"] for row in received.rows["event"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no ExceptionGroup")
def test_the_members_of_a_group_of_exceptions_follow_its_traceback_with_their_own(
    client: Client, received: FakeServer
) -> None:
    wait(client.submit(fail_as_a_group, 20, pure=False))
    [error] = eventually(lambda: received.rows["error"])
    trace = error["traceback"]
    found = [
        "in fail_as_a_group",
        "1 of 20",
        "in fail\n",
        "KeyError: 'no 0'\n",
        "15 of 20",
        "KeyError: 'no 14'\n",
    ]
    places = [trace.index(text) for text in found]
    assert places == sorted(places)
    assert "KeyError: 'no 15'" not in trace
    assert error["exception_type"] == "ExceptionGroup"


def test_tasks_that_fail_because_of_another_are_counted_not_recorded_as_errors(
    client: Client, received: FakeServer
) -> None:
    failing = dask.delayed(fail)(2, dask_key_name="failing")
    # in one graph: submitted one by one, a loaded machine may hear of the last when the task has failed
    dependents = client.compute([dask.delayed(increment)(failing) for _ in range(4)], optimize_graph=False)
    wait(dependents)
    [error] = eventually(lambda: received.rows["error"])
    assert (error["key"], error["dependents"]) == ("failing", 4)
    erred = [row for row in received.rows["transition"] if row["finish"] == "erred"]
    assert {row["key"] for row in erred} == {"failing", *(future.key for future in dependents)}


def test_the_dependents_of_a_task_whose_workers_died_are_counted(
    client: Client, received: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    killed = client.submit(exit_process, 1.0, pure=False)
    dependents = [client.submit(increment, killed, pure=False) for _ in range(3)]
    last = client.submit(sum, dependents, pure=False)
    wait(last)
    [error] = eventually(lambda: received.rows["error"])
    assert (error["key"], error["outcome"], error["exception_type"]) == (killed.key, "killed", "KilledWorker")
    assert error["dependents"] == 4
    client.wait_for_workers(2, timeout=180)


class Counter:
    def add(self) -> int:
        return 1


def test_an_actor_that_goes_with_its_worker_is_an_error_on_that_worker(
    client: Client, received: FakeServer
) -> None:
    actor = client.submit(Counter, actor=True, pure=False)
    wait(actor)
    [worker] = client.who_has([actor])[actor.key]
    os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)
    eventually(lambda: actor.status == "error")
    [error] = eventually(lambda: [row for row in received.rows["error"] if row["key"] == actor.key])
    assert (error["exception_type"], error["message"]) == ("RuntimeError", "Worker holding Actor was lost")
    assert (error["outcome"], error["worker"], error["workers"]) == ("erred", worker, [worker])
    client.wait_for_workers(2, timeout=180)


class Strict(Exception):
    """Cannot be created with other arguments, so Dask replaces it when it shortens its message."""

    def __init__(self, number: int) -> None:
        super().__init__("number " + "7" * 20_000)
        self.number = number + 0


@pytest.mark.parametrize("kind", [ValueError, Strict])
def test_a_message_that_dask_shortened_starts_as_the_exceptions_own(
    client: Client, received: FakeServer, kind: type[Exception]
) -> None:
    def fail_at_length() -> None:
        raise Strict(7) if kind is Strict else kind("number " + "7" * 20_000)

    wait(client.submit(fail_at_length, pure=False))
    [error] = eventually(lambda: received.rows["error"])
    assert error["message"].startswith("number 777")
    assert error["message"].endswith("777")
    assert error["exception_type"].rpartition(".")[2] == kind.__name__


class Hostile(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def raise_hostile() -> None:
    raise Hostile("x" * 10_000_000)


def test_an_exception_that_cannot_be_shown_does_no_harm(client: Client, received: FakeServer) -> None:
    future = client.submit(raise_hostile, pure=False)
    wait(future, timeout=180)
    future.cancel()
    assert client.submit(increment, 1, pure=False).result(timeout=180) == 2
    assert eventually(lambda: [row for row in received.rows["transition"] if row["finish"] == "memory"])
