"""Debian's Prometheus, as server and as agent, writes what it scrapes; it reads back the same, and answers
queries of public dashboards alike."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.exchange.prometheus.reading import STALE
from tests.agent.eventually import eventually
from tests.browser.observatory import free_port
from tests.collect.prometheus.test_remote_write import bits, connection
from tests.support.projects import World, world
from tests.support.prometheus import READ, WRITE, ask, post, prometheus, query, results_of
from tests.support.web_process import web_process

__all__ = ["connection", "world"]

ENOUGH = 8
"""samples of a series"""


class Endpoint:
    """What a process of Dask shows on /metrics; its counter begins anew after some scrapes."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.counts: list[int] = []
        """that were answered"""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                endpoint.counts.append(len(endpoint.counts) % 5)
                body = endpoint.page.replace("COUNT", str(endpoint.counts[-1])).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


SCHEDULER_PAGE = """# TYPE dask_scheduler_tasks gauge
dask_scheduler_tasks{state="memory"} 0.1
dask_scheduler_tasks{state="erred"} NaN
# TYPE dask_scheduler_clients gauge
dask_scheduler_clients 3
# TYPE dask_scheduler_desired_workers gauge
dask_scheduler_desired_workers 4
# TYPE dask_scheduler_workers gauge
dask_scheduler_workers{state="idle"} 1
dask_scheduler_workers{state="partially_saturated"} 1
dask_scheduler_workers{state="saturated"} 0
dask_scheduler_workers{state="paused"} 0
"""
WORKER_PAGE = """# TYPE dask_worker_threads gauge
dask_worker_threads 2
# TYPE dask_worker_tick_count counter
dask_worker_tick_count_total COUNT
"""


@pytest.fixture
def endpoints() -> Iterator[list[Endpoint]]:
    """A scheduler and two workers."""
    made = [Endpoint(SCHEDULER_PAGE), Endpoint(WORKER_PAGE), Endpoint(WORKER_PAGE)]
    yield made
    for endpoint in made:
        endpoint.close()


@pytest.fixture
def written(
    connection: psycopg.Connection, world: World, endpoints: list[Endpoint], tmp_path: Path
) -> Iterator[dict[str, Any]]:
    """The address of Observatory, and Prometheus' configuration to scrape and write to it."""
    secret = ingest_tokens.make(world.alpha, "prometheus", None)[1]
    with web_process(tmp_path, free_port()) as observatory:
        yield {
            "global": {
                "scrape_interval": "1s",
                "scrape_timeout": "1s",
                "external_labels": {"cluster": "etl"},
            },
            "scrape_configs": [
                {"job_name": "dask", "static_configs": [{"targets": [each.address for each in endpoints]}]}
            ],
            "remote_write": [
                {
                    "url": f"{observatory}{WRITE}?interval=1",
                    "authorization": {"credentials": secret},
                    "queue_config": {"batch_send_deadline": "1s"},
                }
            ],
        }


def read(world: World, metric: str) -> dict[str, list[tuple[int, float]]]:
    """Samples by instance, as remote_read answers."""
    now = time.time()
    client = world.client("superuser")
    asked = query(("__name__", "=", metric), ("cluster_name", "=", "etl"), start=now - 3600, stop=now + 60)
    [found] = results_of(post(client, asked))
    return {dict(labels)["instance"]: samples for labels, samples in found.items()}


def has_enough(world: World, endpoints: list[Endpoint]) -> bool:
    found = read(world, "dask_worker_tick_count_total")
    return len(found) == 2 and min(map(len, found.values())) >= ENOUGH


def test_what_a_server_wrote_it_reads_back_equal(
    written: dict[str, Any], world: World, endpoints: list[Endpoint], tmp_path: Path
) -> None:
    with prometheus(tmp_path / "server", written) as url:
        eventually(lambda: has_enough(world, endpoints), 120)
        endpoints[2].close()
        eventually(lambda: is_marked(world, endpoints[2]))
        for endpoint in endpoints[:2]:
            endpoint.close()
        [cluster] = Cluster.objects.filter(name="etl")
        assert cluster.project == world.alpha
        for metric in ("dask_scheduler_tasks", "dask_scheduler_clients", "dask_worker_tick_count_total"):
            eventually(lambda name=metric: stored(world, name) == own(url, name) != "[]")
        eventually(lambda: is_marked(world, endpoints[1]))


def is_marked(world: World, endpoint: Endpoint) -> bool:
    """Whether the series of the worker ended."""
    return is_mark(read(world, "dask_worker_threads")[endpoint.address][-1][1])


def is_mark(value: float) -> bool:
    return bits(value) == bits(STALE.item())


def stored(world: World, metric: str) -> str:
    """All samples without marks, which no range vector has; a text, for NaN isn't NaN."""
    now = time.time()
    asked = query(("__name__", "=", metric), start=now - 3600, stop=now + 60)
    [found] = results_of(post(world.client("superuser"), asked))
    return repr(
        sorted(
            (labels_of(labels), [sample for sample in samples if not is_mark(sample[1])])
            for labels, samples in found.items()
        )
    )


def own(url: str, metric: str) -> str:
    """As Prometheus has them itself."""
    return repr(
        sorted(
            (labels_of(labels), [(round(float(at) * 1e3), float(value)) for at, value in samples])
            for labels, samples in ask(url, f"{metric}[1h]", time.time()).items()
        )
    )


def labels_of(labels: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Without those that name the cluster: they are Observatory's, or external labels."""
    others = ("cluster", "cluster_name", "exported_cluster", "project", "worker_name")
    return tuple((name, value) for name, value in labels if name not in others)


POD = {"pod": "dask-scheduler-1f2e", "user": "ada"}
QUERIES = {
    "Purdue Analysis Facility, dashboard of Dask": [
        "count(dask_scheduler_workers)/4 or vector(0)",
        "sum(dask_scheduler_workers) or vector(0)",
    ],
    "Purdue Analysis Facility, dashboard of people": [
        'sum by (pod) (dask_scheduler_workers{job="dask",pod=~"dask-scheduler-.*"})'
    ],
    "Purdue Analysis Facility, tools of its assistant": [
        'sum(dask_scheduler_workers{user="ada",pod="dask-scheduler-1f2e"})',
        'sum by (state) (dask_scheduler_workers{user="ada",pod="dask-scheduler-1f2e"})',
        'sum(dask_scheduler_desired_workers{user="ada",pod="dask-scheduler-1f2e"})',
    ],
    "RAPIDS, article on monitoring": ['dask_scheduler_workers{job="dask"}'],
    "alert rules of a GPU cluster": ['up{job="dask"} == 0', 'absent(up{job="dask-worker"})'],
}
"""by who published them; only the names of jobs and pods are ours, and there are no namespaces"""


def test_queries_of_public_dashboards_are_answered_as_by_the_server_that_scraped(
    written: dict[str, Any], world: World, endpoints: list[Endpoint], tmp_path: Path
) -> None:
    """By another Prometheus, which has nothing but what it reads here."""
    written["scrape_configs"][0]["static_configs"][0]["labels"] = POD
    observatory = written["remote_write"][0]["url"].partition(WRITE)[0]
    secret = access_tokens.make(world.people["superuser"], "prometheus", None)[1]
    remote = {
        "url": f"{observatory}{READ}",
        "authorization": {"credentials": secret},
        "read_recent": True,
    }
    with (
        prometheus(tmp_path / "server", written) as server,
        prometheus(tmp_path / "reader", {"remote_read": [remote]}) as reader,
    ):
        eventually(lambda: has_enough(world, endpoints), 120)
        endpoints[2].close()
        eventually(lambda: is_down(ask(server, "up", time.time()), endpoints[2]))
        at = time.time()
        eventually(lambda: newest(world) > at + 2, 180)
        for source, queries in QUERIES.items():
            for promql in queries:
                there, here = (comparable(ask(url, promql, at)) for url in (server, reader))
                assert there, (source, promql)
                assert here == there, (source, promql)


def is_down(up: dict[tuple[tuple[str, str], ...], Any], endpoint: Endpoint) -> bool:
    return any(("instance", endpoint.address) in labels and value[1] == "0" for labels, value in up.items())


def comparable(found: dict[tuple[tuple[str, str], ...], Any]) -> dict[tuple[tuple[str, str], ...], str]:
    return {labels_of(labels): value for labels, (_, value) in found.items()}


def test_an_agent_writes_what_it_scrapes(
    written: dict[str, Any], world: World, endpoints: list[Endpoint], tmp_path: Path
) -> None:
    with prometheus(tmp_path / "agent", written, "--enable-feature=agent"):
        eventually(lambda: has_enough(world, endpoints), 120)
    found = read(world, "dask_worker_tick_count_total")
    for endpoint in endpoints[1:]:
        samples = [sample for sample in found[endpoint.address] if not is_mark(sample[1])]
        assert len({at for at, _ in samples}) == len(samples)
        answered = iter(list(endpoint.counts))
        assert all(int(value) in answered for _, value in samples), "each once, in their order"
    [cluster] = Cluster.objects.filter(name="etl")
    assert cluster.ended is None


def test_what_could_not_be_stored_is_sent_again_and_stored_once(
    connection: psycopg.Connection,
    written: dict[str, Any],
    world: World,
    endpoints: list[Endpoint],
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        url = stack.enter_context(prometheus(tmp_path / "server", written))
        eventually(lambda: has_enough(world, endpoints), 120)
        connection.execute("ALTER TABLE sample RENAME TO hidden")
        try:
            time.sleep(3)
        finally:
            connection.execute("ALTER TABLE hidden RENAME TO sample")
        resumed = time.time()
        eventually(lambda: newest(world) > resumed + 2, 180)
        until = newest(world)
        [samples] = ask(url, "dask_scheduler_clients[1h]", until).values()
        rows = connection.execute(
            """SELECT extract(epoch FROM time)::float8 FROM sample JOIN series ON series.id = series_id
               WHERE metric = 'dask_scheduler_clients' AND value <> 'NaN' ORDER BY time"""
        ).fetchall()
        assert [at for (at,) in rows if at <= until] == [float(at) for at, _ in samples if float(at) <= until]


def newest(world: World) -> float:
    """Seconds."""
    found = read(world, "dask_scheduler_clients").values()
    return max((samples[-1][0] / 1e3 for samples in found), default=0.0)
