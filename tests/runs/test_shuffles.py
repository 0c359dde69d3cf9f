"""P2P shuffles of a real cluster: their bytes are part of its transfers, and they have names."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster, WorkerPlugin

import observatory.agent
from observatory.replay.windows.transfer_schemas import Transfers
from observatory.replay.windows.transfers import transfers_of
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.runs.recorded_runs import CLUSTER, stored_runs
from tests.support.projects import World
from tests.support.response_schemas import assert_documented

pytestmark = pytest.mark.django_db(transaction=True)

Sent = dict[tuple[str, str], int]
"""bytes by sender and receiver"""


def recorder(path: str) -> WorkerPlugin:
    """Counts the bytes of shards where they arrive; by value, as workers can't import this module."""

    class Recorder(WorkerPlugin):  # type: ignore[misc]
        name = "recorder"

        def setup(self, worker: Any) -> None:
            from distributed.shuffle._comms import CommShardsBuffer

            process = CommShardsBuffer._process

            def payload(shards: Any) -> int:
                if isinstance(shards, (list, tuple)):
                    return sum(payload(one) for one in shards)
                return len(memoryview(shards).cast("B")) if hasattr(shards, "__len__") else 0

            async def counted(buffer: Any, address: str, shards: Any) -> None:
                size = payload(shards)
                await process(buffer, address, shards)
                with open(f"{path}/{worker.address.rpartition(':')[2]}.jsonl", "a") as file:
                    file.write(json.dumps([worker.address, address, size]) + "\n")

            CommShardsBuffer._process = counted

    return Recorder()


def slow() -> Callable[[Any], Any]:
    def slow(part: Any) -> Any:
        time.sleep(0.5)  # in which the agent sees the shuffle
        return part

    return slow


def shuffled(client: DaskClient) -> None:
    import dask.array
    import dask.dataframe
    import pandas

    rows = 40_000
    frame = dask.dataframe.from_pandas(
        pandas.DataFrame({"city": [f"c{n % 97}" for n in range(rows)], "amount": range(rows)}), npartitions=8
    )
    kept = frame.map_partitions(slow(), meta=frame._meta).shuffle("city")
    client.compute(kept.amount.sum()).result(300)
    other = frame.rename(columns={"amount": "price"}).map_partitions(slow())
    client.compute(frame.merge(other, on="city", shuffle_method="p2p").price.count()).result(300)
    numbers = dask.array.random.random((800, 800), chunks=(100, 800)).map_blocks(slow())
    client.compute(numbers.rechunk((800, 100)).map_blocks(slow()).sum()).result(300)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeServer, Sent]:
    folder = tmp_path_factory.mktemp("shards")
    settings = {
        "distributed.diagnostics.computations.nframes": 2,
        "array.rechunk.method": "p2p",
        "dataframe.shuffle.method": "p2p",
    }
    with dask.config.set(settings), fake_server() as received:
        with (
            LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address="127.0.0.1:0") as made,
            DaskClient(made) as client,
        ):
            client.register_plugin(recorder(str(folder)))
            observatory.agent.register(
                client, url=received.url, token=TOKEN, name=CLUSTER, flush_interval="0.5s"
            )
            with observatory.run("shuffles", client=client):
                shuffled(client)
            time.sleep(2)
        return received, _read(folder)


def _read(folder: Path) -> Sent:
    sent: Sent = {}
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            sender, receiver, size = json.loads(line)
            if sender != receiver:
                sent[sender, receiver] = sent.get((sender, receiver), 0) + size
    return sent


@pytest.fixture
def run(
    transactional_db: None, world: World, recorded: tuple[FakeServer, Sent]
) -> Iterator[tuple[Run, dict[int, str]]]:
    with stored_runs(recorded[0], world.alpha) as runs:
        run = runs["shuffles"]
        with read_connection() as connection:
            rows = connection.execute(
                "SELECT id, address FROM worker WHERE cluster_id = %s", [run.cluster_id]
            )
            yield run, dict(rows.fetchall())


def transfers(run: Run) -> dict[str, Any]:
    with read_connection() as connection:
        return transfers_of(connection, scope_of_run(run), 0, MAXIMUM_TIME)


def test_the_bytes_of_shuffles_are_part_of_the_transfers(
    run: tuple[Run, dict[int, str]], recorded: tuple[FakeServer, Sent]
) -> None:
    found, addresses = transfers(run[0]), run[1]
    assert_documented(Transfers, found)
    with read_connection() as connection:
        rows = connection.execute(
            """SELECT peer, address, sum(nbytes)::bigint, sum(nbytes) FILTER (WHERE direction = 2)::bigint
               FROM transfer JOIN worker ON worker.id = worker_id
               WHERE transfer.cluster_id = %s AND direction <> 1 GROUP BY 1, 2""",
            [run[0].cluster_id],
        ).fetchall()
    assert {(sender, receiver): shuffled for sender, receiver, _, shuffled in rows} == recorded[1]
    places = [addresses[place["worker"]] for place in found["places"]]
    in_matrix = {
        (places[cell["sender"]], places[cell["receiver"]]): cell["nbytes"] for cell in found["cells"]
    }
    assert in_matrix == {(sender, receiver): whole for sender, receiver, whole, _ in rows}
    assert found["total"]["nbytes"] == sum(in_matrix.values())
    assert run[0].figures["transferred"] == found["total"]["nbytes"]
    assert sum(recorded[1].values()) > 2**20


def test_shuffles_have_names_and_the_line_that_submitted_them(
    run: tuple[Run, dict[int, str]],
) -> None:
    found = transfers(run[0])["shuffles"]
    names = [one["name"] for one in found]
    assert "shuffle of slow by city" in names
    assert "rechunk of slow into chunks of 800 × 100" in names
    assert len([name for name in names if name.startswith("merge of ") and name.endswith(" by city")]) == 2
    for one in found:
        assert "test_shuffles.py:" in one["code"]
        assert ".result(300)" in one["code"]
