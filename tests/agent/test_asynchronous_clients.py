"""The agent and runs of a program that is one event loop: an asynchronous client and cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import observatory
import observatory.agent
from observatory.agent.configuration import ConfigurationError
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, fake_server


def local_cluster() -> LocalCluster:
    return LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, asynchronous=True, dashboard_address=None
    )


@pytest.mark.parametrize("is_awaited", [True, False])
def test_registering_with_an_asynchronous_client_installs_the_agent(tmp_path: Path, is_awaited: bool) -> None:
    async def work(url: str) -> None:
        async with local_cluster() as cluster, Client(cluster, asynchronous=True) as client:
            installed = observatory.agent.register(
                client, url=url, token=TOKEN, spool_directory=str(tmp_path)
            )
            assert installed is not None
            if is_awaited:
                await installed
            await asyncio.wait([installed])
            async with observatory.run("of the loop", client=client):
                assert await client.submit(sum, [1, 2]) == 3
            removed = observatory.agent.unregister(client)
            assert removed is not None
            await removed

    with fake_server() as received:
        asyncio.run(work(received.url))
        eventually(lambda: [row["outcome"] for row in received.rows["run"]] == ["running", "finished"])


def test_a_wrong_setting_is_raised_where_an_asynchronous_client_awaits_it() -> None:
    async def work() -> None:
        async with local_cluster() as cluster, Client(cluster, asynchronous=True) as client:
            installing = observatory.agent.register(client, url="http://127.0.0.1:1", token="")
            assert installing is not None
            with pytest.raises(ConfigurationError, match="token"):
                await installing

    asyncio.run(work())
