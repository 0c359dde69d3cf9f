"""The services of the dask-operator, from a server that answers as Kubernetes' API documents it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from observatory.collect.credentials.credentials import Credentials
from observatory.collect.discovery.kind import MOST_FOUND
from observatory.collect.discovery.kinds import kubernetes
from tests.collect.discovery.lists import ListServer, answer_of, look, make_discovery, serving
from tests.support.certificates import Authority

pytestmark = pytest.mark.django_db

TOKEN = "the token of the service account"


def service(
    name: str, namespace: str = "team", port: str = "http-dashboard", number: int = 8787
) -> dict[str, Any]:
    """As the operator makes it for a DaskCluster."""
    return {
        "metadata": {
            "name": f"{name}-scheduler",
            "namespace": namespace,
            "uid": "4d3d4d0c",
            "labels": {"dask.org/cluster-name": name, "dask.org/component": "scheduler"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.96.0.17",
            "ports": [
                {"name": "tcp-comm", "protocol": "TCP", "port": 8786, "targetPort": "tcp-comm"},
                {"name": port, "protocol": "TCP", "port": number, "targetPort": port},
            ],
        },
        "status": {"loadBalancer": {}},
    }


def respond(path: str, query: dict[str, str]) -> Any:
    """Two pages of services; another namespace has none."""
    if query.get("labelSelector") != "dask.org/component=scheduler":
        return 400
    pages = [
        [service("etl"), service("train", number=80)],
        [service("etl", "other"), service("old", port="http")],
    ]
    if path == "/api/v1/namespaces/empty/services":
        pages = [[]]
    elif path != "/api/v1/services":
        return 404
    number = int(query.get("continue", "0"))
    more = {"continue": str(number + 1), "remainingItemCount": 2} if number + 1 < len(pages) else {}
    metadata = {"resourceVersion": "7", **more}
    return {"kind": "ServiceList", "apiVersion": "v1", "metadata": metadata, "items": pages[number]}


@pytest.fixture(scope="module")
def server() -> Iterator[ListServer]:
    with serving(respond) as running:
        yield running


def test_all_pages_of_services_become_targets_under_their_clusters_names(server: ListServer) -> None:
    discovery = make_discovery("kubernetes", server.url, Credentials(token=TOKEN))
    assert look(discovery) == [
        ("etl", "http://etl-scheduler.team.svc:8787"),
        ("etl (etl-scheduler.other.svc:8787)", "http://etl-scheduler.other.svc:8787"),
        ("train", "http://train-scheduler.team.svc:80"),
    ]
    missing = "1 cannot be observed: team/old-scheduler: the service has no port http-dashboard."
    assert discovery.warning == missing
    assert {headers["Authorization"] for _, headers in server.requests[-2:]} == {f"Bearer {TOKEN}"}
    assert not discovery.targets.exclude(secret="").exists(), "Dask's schedulers get no token of Kubernetes"


def test_one_namespace_is_asked_alone(server: ListServer) -> None:
    assert look(make_discovery("kubernetes", server.url, namespace="empty")) == []
    assert server.requests[-1][0].startswith("/api/v1/namespaces/empty/services?")


def test_pages_without_end_are_left_when_there_are_enough(server: ListServer) -> None:
    def endless(path: str, query: dict[str, str]) -> Any:
        items = [service(f"c{query.get('continue', '')}x{number}") for number in range(250)]
        return {"metadata": {"continue": str(int(query.get("continue", "0")) + 1)}, "items": items}

    server.respond = endless
    try:
        found = answer_of(make_discovery("kubernetes", server.url)).found
    finally:
        server.respond = respond
    assert MOST_FOUND < len(found) <= MOST_FOUND + 250


def test_in_a_pod_its_service_account_is_used(
    server: ListServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes, "SERVICE_ACCOUNT", tmp_path / "serviceaccount")
    with pytest.raises(ValidationError, match="does not run in Kubernetes"):
        kubernetes.DISCOVERY.clean_address("")
    assert "cannot be read" in answer_of(make_discovery("kubernetes", "")).error
    (tmp_path / "serviceaccount").mkdir()
    (tmp_path / "serviceaccount" / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "serviceaccount" / "ca.crt").write_text(Authority().pem)
    monkeypatch.setattr(kubernetes, "IN_CLUSTER", server.url)
    assert kubernetes.DISCOVERY.clean_address("") == ""
    assert kubernetes.DISCOVERY.why_superuser("")
    discovery = make_discovery("kubernetes", "", Credentials(token="of somebody else"), name="here")
    assert len(look(discovery)) == 3
    assert server.requests[-1][1]["Authorization"] == f"Bearer {TOKEN}"
