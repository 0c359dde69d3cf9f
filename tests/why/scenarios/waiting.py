"""Scenarios in which tasks keep threads and wait: for each other, or for something outside of Dask."""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from collections.abc import Iterator

from distributed import Client, wait

from tests.why.scenarios.scenario import seeded
from tests.why.scenarios.tasks import ask, sleep, use_connection, write_locked


class Service(http.server.BaseHTTPRequestHandler):
    """Answers each request after a while, as many at once as there are."""

    seconds = 0.4

    def do_GET(self) -> None:
        time.sleep(self.seconds)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"answer")

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class FastService(Service):
    seconds = 0.0


@seeded("waiting-outside", is_computing=False)
def requests_of_a_slow_service(client: Client, has_cause: bool) -> None:
    with _serving(Service if has_cause else FastService) as url:
        wait(client.map(ask, range(80), url=url, pure=False))


@seeded("waiting-outside", is_computing=False, n_workers=1, threads_per_worker=4)
def sleeping_tasks(client: Client, has_cause: bool) -> None:
    wait(client.map(sleep, [0.4 if has_cause else 0.0] * 80, pure=False))


@seeded("serialized", is_computing=False, n_workers=1, threads_per_worker=4)
def lock_of_a_process(client: Client, has_cause: bool) -> None:
    wait(client.map(write_locked, range(40), seconds=0.25, is_locked=has_cause, pure=False))


@seeded("serialized", is_computing=False, threads_per_worker=4)
def one_connection_of_each_worker(client: Client, has_cause: bool) -> None:
    """The others wait for it in a queue."""
    wait(client.map(use_connection, range(60), seconds=0.25, is_only_one=has_cause, pure=False))


@seeded("serialized", resources={"database": 1})
def resource_for_one_task_at_once(client: Client, has_cause: bool) -> None:
    required = {"database": 1 if has_cause else 0.5}
    wait(client.map(sleep, [0.4] * 40, resources=required, pure=False))


@contextlib.contextmanager
def _serving(handler: type[Service]) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
