"""A real dask-gateway server with its proxy: its clusters are found, named and observed as there."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from observatory.clusters.models import Target
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.credentials.credentials import Credentials
from tests.collect.dask_processes import free_port
from tests.collect.discovery.lists import answer_of, look, make_discovery
from tests.collect.observer import eventually, watching

PASSWORD = "the gateway's"
CONFIGURATION = """
c.DaskGateway.address = "127.0.0.1:{inner}"
c.DaskGateway.backend_class = "dask_gateway_server.backends.inprocess.InProcessBackend"
c.DaskGateway.authenticator_class = "dask_gateway_server.auth.SimpleAuthenticator"
c.SimpleAuthenticator.password = "{password}"
c.Proxy.address = "127.0.0.1:{outer}"
"""


@dataclass
class Gateway:
    url: str

    def request(self, method: str, path: str, user: str = "ann") -> Any:
        pair = base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {pair}", "Content-Type": "application/json"}
        body = b"{}" if method == "POST" else None
        with urlopen(Request(f"{self.url}{path}", body, headers, method=method), timeout=60) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def start_cluster(self, user: str = "ann") -> str:
        """The name of a new cluster that is running."""
        name = str(self.request("POST", "/api/v1/clusters/", user)["name"])
        self.request("GET", f"/api/v1/clusters/{name}?wait", user)
        wait_for(lambda: self.request("GET", f"/api/v1/clusters/{name}", user)["dashboard_route"])
        return name


def wait_for(look: Any) -> None:
    deadline = time.monotonic() + 180
    while True:
        try:
            if look():
                return
        except URLError:
            pass  # it starts
        assert time.monotonic() < deadline, "the gateway didn't do it"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("gateway")
    inner, outer = free_port(), free_port()
    (folder / "config.py").write_text(CONFIGURATION.format(inner=inner, outer=outer, password=PASSWORD))
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-m", "dask_gateway_server", "--config", str(folder / "config.py")]
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    try:
        running = Gateway(f"http://127.0.0.1:{outer}")
        wait_for(lambda: running.request("GET", "/api/v1/clusters/") == {})
        yield running
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.django_db
def test_without_the_right_password_there_is_no_list(gateway: Gateway) -> None:
    for number, credentials in enumerate((None, Credentials("ann", "wrong"))):
        discovery = make_discovery("gateway", gateway.url, credentials, name=f"gateway {number}")
        assert "status 401" in answer_of(discovery).reason


async def test_a_users_running_clusters_are_targets_named_as_there_until_they_stop(
    gateway: Gateway, store: None
) -> None:
    of_ann, of_bob = gateway.start_cluster(), gateway.start_cluster("bob")
    credentials = Credentials("ann", PASSWORD)
    discovery = await run_in_django_thread(make_discovery, "gateway", gateway.url, credentials)
    found = await run_in_django_thread(look, discovery)
    assert found == [(f"{of_ann} (ann)", f"{gateway.url}/clusters/{of_ann}")]
    assert of_bob not in str(found)
    target = await run_in_django_thread(lambda: Target.objects.select_related("discovery").get())
    assert target.secret == "", "the gateway's proxy asks for no password on the way to a dashboard"

    async with watching(target) as watcher:

        async def is_received() -> bool:
            return watcher.observation is not None and watcher.subscriber.state == Target.Stream.RECEIVING

        await eventually(is_received, what="the stream through the gateway's proxy")

    gateway.request("DELETE", f"/api/v1/clusters/{of_ann}")
    wait_for(lambda: gateway.request("GET", "/api/v1/clusters/?status=running") == {})
    assert len(await run_in_django_thread(look, discovery)) == 1
    assert await run_in_django_thread(look, discovery) == []
