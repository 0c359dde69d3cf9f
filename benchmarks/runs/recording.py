"""Records a real run: a LocalCluster at work, with the agent, read as the server reads it."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, LocalCluster

import observatory.agent
from observatory.collect.agents.batch import batch_of
from observatory.store.ingest.batches.batch import Batch
from observatory.wire.batches import decode_batch

WORKERS, THREADS = 4, 2
ARRAYS, CHUNKS = 3, 30


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps the bodies of batches and acknowledges them, as if the cluster had an open page: each second."""

    protocol_version = "HTTP/1.1"
    bodies: list[bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        head, _ = decode_batch(gzip.decompress(body))
        self.bodies.append(body)
        answer = json.dumps(
            {"sequence": head.sequence, "refused": 0, "already": False, "watched": True}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving() -> Iterator[tuple[str, list[bytes]]]:
    handler = type("Kept", (Receiver,), {"bodies": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", handler.bodies
    server.shutdown()


def work(client: Client) -> None:
    """Arrays and a shuffled dataframe: some ten thousand tasks of very different lengths."""
    import dask.array  # tests that receive only would import it for nothing
    import dask.datasets

    for _ in range(ARRAYS):
        array = dask.array.random.random((CHUNKS * 60, CHUNKS * 60), chunks=60)
        client.compute((array + array.T).std(axis=0).sum()).result()
    frame = dask.datasets.timeseries(start="2000-01-01", end="2000-01-31", partition_freq="1D", freq="60s")
    client.compute(frame.shuffle("name").groupby("name").x.mean()).result()


def record_bodies() -> list[bytes]:
    """The bodies of the agent's batches of one such run, compressed with gzip, in order."""
    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=THREADS, silence_logs="ERROR", dashboard_address="127.0.0.1:0"
    )
    with receiving() as (url, bodies), cluster, Client(cluster) as client:
        observatory.agent.register(client, url=url, token="benchmark")
        work(client)
        observatory.agent.unregister(client)
    return bodies


def record() -> list[Batch]:
    """The batches of one such run, in order."""
    return [batch_of(0, *decode_batch(gzip.decompress(body)))[0] for body in record_bodies()]
