"""`%%observe` in a real kernel, with real clusters and a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import observatory.agent
from observatory.client.cells.observed_cell import NOT_SAVED, UNKNOWN_CLUSTER
from observatory.client.cells.panel import VIEW
from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Cluster, Target
from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.clusters.tokens.models import AccessToken
from observatory.runs.models import Run
from tests.client.kernel import Kernel, kernel
from tests.client.test_shown import assert_harmless
from tests.support.observed_cluster import Observed
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import at
from tests.why.findings.simulated import Simulated, futures

WORKERS = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "protocol": "tcp://"}
PREPARE = """
import time
from pathlib import Path
from distributed import Client
client = Client({address!r}, set_as_default=True)
%load_ext observatory
"""
WORK = f"""%%observe nightly {HOSTILE}
results = client.gather(client.map(lambda number: time.sleep(0.01), range(20), key="work-{HOSTILE}"))
while not Path("release").exists():
    time.sleep(0.05)
len(results)
"""


@pytest.fixture
def cluster(transactional_db: None) -> Iterator[LocalCluster]:
    with LocalCluster(**WORKERS, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster


def _kernel(folder: Path, live_server: Any, token: str) -> Any:
    return kernel(folder, OBSERVATORY_URL=live_server.url, OBSERVATORY_ACCESS_TOKEN=token)


def _token(world: World, role: str, scopes: list[str] | None = None) -> str:
    token, secret = access_tokens.make(world.people[role], "notebook", None)
    if scopes is not None:
        AccessToken.objects.filter(pk=token.pk).update(scopes=scopes)
    return secret


def _known(world: World, cluster: LocalCluster) -> Cluster:
    """A cluster of a target with the id of the real one, and with tasks."""
    known = Simulated(futures(800, 5.0)).record()
    _set_clock(known, at(5))
    Cluster.objects.filter(pk=known.pk).update(scheduler_id=cluster.scheduler.id, name=f"known {HOSTILE}")
    for role in ("viewer", "editor"):
        Membership.objects.create(project=known.project, user=world.people[role], role=role)
    return known


def _set_clock(cluster: Cluster, shown: datetime) -> None:
    """Lets the clock of a recorded cluster show another time."""
    offset = shown.timestamp() - time.time()
    target = Target.objects.create(
        project=cluster.project, name="target", url="http://a", clock_offset=offset
    )
    Cluster.objects.filter(pk=cluster.pk).update(target=target)


def test_a_busy_cell_has_a_live_panel_and_then_the_card_of_its_run(
    cluster: LocalCluster, world: World, live_server: Any, tmp_path: Path
) -> None:
    _, secret = ingest_tokens.make(world.alpha, "tests", None)
    with Client(cluster) as client:
        observatory.agent.register(client, url=live_server.url, token=secret, name="reporting")
        with _kernel(tmp_path, live_server, _token(world, "viewer")) as kernel:
            assert not kernel.run(PREPARE.format(address=cluster.scheduler_address)).error
            cell = kernel.start(WORK)
            kernel.until(lambda: any(figures.get("done") == 20 for figures in _figures(kernel)))
            assert cell.seconds is None
            [figures] = [one for one in _figures(kernel) if one["done"] == 20][:1]
            assert (figures["threads"], figures["workers"], figures["total"]) == (2, 1, 20)
            assert figures["memory"] > 0
            assert [prefix["done"] for prefix in figures["prefixes"]] == [20]
            (tmp_path / "release").touch()
            kernel.until(lambda: cell.seconds is not None)
            shown, result = cell.outputs
            assert result["data"]["text/plain"] == "20"
            kernel.until(lambda: "Main finding" in shown["data"]["text/html"])
            html = shown["data"]["text/html"]
            run = Run.objects.get(origin="code")
            assert f'href="{live_server.url}/runs/{run.pk}/"' in html
            assert run.name == f"nightly {HOSTILE}"
            assert_harmless(html, live_server.url)
            assert VIEW not in shown["data"]  # nothing of the panel is in the saved notebook
            kernel.until(lambda: kernel.closed.issuperset(kernel.widgets))
            failed = kernel.run("%%observe\nraise ValueError")
            assert failed.error == "ValueError"
            kernel.until(lambda: "with errors" in failed.outputs[0]["data"].get("text/html", ""))
        observatory.agent.unregister(client)


def _figures(kernel: Kernel) -> list[Any]:
    return [state["figures"] for state in kernel.states("state") if state.get("figures")]


def test_a_cell_on_a_cluster_of_a_target_becomes_a_run_by_an_editors_token(
    cluster: LocalCluster, world: World, live_server: Any, tmp_path: Path
) -> None:
    known = _known(world, cluster)
    with _kernel(tmp_path, live_server, _token(world, "editor", [AccessToken.Scope.RUNS])) as kernel:
        kernel.run(PREPARE.format(address=cluster.scheduler_address))
        (tmp_path / "release").touch()
        cell = kernel.run(WORK)
        kernel.until(lambda: "Open in Observatory" in cell.outputs[0]["data"]["text/html"])
        run = Run.objects.get(cluster=known)
        assert (run.origin, run.name) == ("cut", f"nightly {HOSTILE}")


def test_by_a_viewers_token_the_cluster_is_shown(
    cluster: LocalCluster, world: World, live_server: Any, tmp_path: Path
) -> None:
    known = _known(world, cluster)
    with _kernel(tmp_path, live_server, _token(world, "viewer")) as kernel:
        kernel.run(PREPARE.format(address=cluster.scheduler_address))
        (tmp_path / "release").touch()
        cell = kernel.run(WORK)
        kernel.until(lambda: NOT_SAVED in cell.outputs[0]["data"]["text/plain"])
        html = cell.outputs[0]["data"]["text/html"]
        assert f"{live_server.url}/clusters/{known.pk}/" in html
        assert_harmless(html, live_server.url)
    assert not Run.objects.filter(cluster=known).exists()


def test_a_cluster_that_observatory_does_not_know_is_named_as_such(
    cluster: LocalCluster, world: World, live_server: Any, tmp_path: Path
) -> None:
    with _kernel(tmp_path, live_server, _token(world, "outsider")) as kernel:
        kernel.run(PREPARE.format(address=cluster.scheduler_address))
        cell = kernel.start(WORK)
        kernel.until(lambda: any(state.get("note") == UNKNOWN_CLUSTER for state in kernel.states("state")))
        (tmp_path / "release").touch()
        kernel.until(lambda: UNKNOWN_CLUSTER in cell.outputs[0]["data"]["text/plain"])


def test_the_figures_of_a_cell_are_those_since_it_began(observed: Observed, world: World) -> None:
    assert observed.run.stop is not None
    _set_clock(observed.cluster, observed.run.stop)
    timeline = f"/api/v1/clusters/{observed.cluster.pk}"
    path = f"{timeline}/notebook/cell?seconds="
    assert world.client("outsider").get(f"{path}1").status_code == 404
    assert world.client("anonymous").get(f"{path}1").status_code == 401
    for wrong in ("-1", "nan", "1e99", "x"):
        assert world.client("viewer").get(f"{path}{wrong}").status_code == 422
    state = world.client("viewer").get(f"{timeline}/state?at={observed.run.stop.timestamp()}").json()
    whole = world.client("viewer").get(f"{path}10000").json()
    for name in ("done", "erred"):
        assert whole[name] == sum(row[name] for row in state["progress"]) > 0
    assert whole["more_prefixes"] == max(len(state["progress"]) - len(whole["prefixes"]), 0)
    tasks = [row["total"] for row in whole["prefixes"]]
    assert tasks == sorted(tasks, reverse=True)
    assert whole["at"] <= time.time()
    now = world.client("viewer").get(f"{path}0").json()
    assert (now["done"], now["prefixes"]) == (0, [])
