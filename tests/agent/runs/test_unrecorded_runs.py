"""A script goes on where its runs can't be recorded, and one warning says why."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
from distributed import Client

import observatory
import observatory.agent
from observatory.agent import runs
from tests.agent.fake_server import FakeServer


def test_without_a_connection_a_run_says_that_its_client_is_closed(
    observed: Client, received: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        client = await Client(observed.scheduler.address, asynchronous=True)
        await client.close()
        async with observatory.run("late", client=client):
            pass

    asyncio.run(work())
    assert "this run is not recorded by Observatory: RuntimeError: the Dask client is closed" in caplog.text


def test_without_an_agent_or_a_client_the_script_goes_on_with_one_warning(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    core = logging.getLogger("distributed.core")
    core.addHandler(caplog.handler)
    with caplog.at_level(logging.WARNING, "observatory"):
        for _ in range(3):
            with observatory.run("etl"):
                assert client.submit(sum, [1, 2]).result() == 3
        client.close()
        with observatory.run("etl", client=client):
            pass
    said = [record.getMessage() for record in caplog.records if record.name == "observatory"]
    core.removeHandler(caplog.handler)
    assert len(said) == 2
    assert runs.NO_AGENT in said[0]
    assert [record for record in caplog.records if record.name == core.name] == []  # of the scheduler


def test_with_no_client_at_all_the_script_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "observatory"), observatory.run("etl"):
        pass
    assert [record.getMessage() for record in caplog.records] == [
        "this run is not recorded by Observatory: there is no Dask client"
    ]


def test_a_scheduler_that_does_not_answer_delays_the_script_briefly(
    observed: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "TIMEOUT", 0.2)

    def hang(dask_scheduler: Any) -> None:
        async def never(**_: Any) -> None:
            await asyncio.sleep(30)

        dask_scheduler.handlers["observatory_run"] = never

    observed.run_on_scheduler(hang)
    began = time.monotonic()
    with observatory.run("etl"):
        pass
    assert time.monotonic() - began < 20
