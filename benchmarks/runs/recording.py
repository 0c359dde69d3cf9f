"""Records a real run: a working LocalCluster with an agent, decoded as the server does it."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dask
import dask.array
import dask.datasets
from distributed import Client, LocalCluster

import observatory.agent
from observatory.collect.agents.batch import batch_of
from observatory.wire.batches import decode_batch
from observatory.wire.records import Batch

WORKERS, THREADS = 4, 2
ARRAYS, CHUNKS = 3, 30


class Receiver(http.server.BaseHTTPRequestHandler):
    """Stores batches in memory and acknowledges them."""

    protocol_version = "HTTP/1.1"
    batches: list[Batch]

    def do_POST(self) -> None:
        head, blocks = decode_batch(gzip.decompress(self.rfile.read(int(self.headers["Content-Length"]))))
        self.batches.append(batch_of(0, head, blocks)[0])
        answer = json.dumps({"sequence": head.sequence, "refused": 0, "already": False}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving() -> Iterator[tuple[str, list[Batch]]]:
    """Run a receiver of batches; yields its URL and the list that it fills."""
    handler = type("RunReceiver", (Receiver,), {"batches": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", handler.batches
    server.shutdown()


def work(client: Client) -> None:
    """Compute arrays and a shuffled dataframe: about ten thousand tasks of very different durations."""
    for _ in range(ARRAYS):
        array = dask.array.random.random((CHUNKS * 60, CHUNKS * 60), chunks=60)
        client.compute((array + array.T).std(axis=0).sum()).result()
    frame = dask.datasets.timeseries(start="2000-01-01", end="2000-01-31", partition_freq="1D", freq="60s")
    client.compute(frame.shuffle("name").groupby("name").x.mean()).result()


def record() -> list[Batch]:
    """Return the agent's batches of one run, in order."""
    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=THREADS, silence_logs="ERROR", dashboard_address="127.0.0.1:0"
    )
    with receiving() as (url, batches), cluster, Client(cluster) as client:
        observatory.agent.register(client, url=url, token="benchmark")
        work(client)
        observatory.agent.unregister(client)
    return batches
