"""Prometheus' HTTP service discovery, spoken by a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from observatory.collect.credentials.credentials import Credentials
from tests.collect.discovery.lists import ListServer, answer_of, look, make_discovery, serving

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def server() -> Iterator[ListServer]:
    with serving(lambda path, query: []) as running:
        yield running


def listed(server: ListServer, document: Any) -> list[tuple[str, str]]:
    server.respond = lambda path, query: document
    return [(found.name, found.url) for found in answer_of(make_discovery("http_sd", server.url)).found]


def test_targets_get_their_address_and_name_from_labels(server: ListServer) -> None:
    groups = [
        {"targets": ["10.0.0.1:8787", "10.0.0.2:8787"]},
        {"targets": ["10.0.0.3:8787"], "labels": {"dask_cluster": "etl", "name": "not this"}},
        {"targets": ["10.0.0.4:8787"], "labels": {"__meta_dask_cluster": "meta", "job": "dask"}},
        {
            "targets": ["dask.example.org"],
            "labels": {"name": "named", "__scheme__": "https", "__metrics_path__": "/team/metrics"},
        },
    ]
    assert listed(server, groups) == [
        ("10.0.0.1:8787", "http://10.0.0.1:8787"),
        ("10.0.0.2:8787", "http://10.0.0.2:8787"),
        ("etl", "http://10.0.0.3:8787"),
        ("meta", "http://10.0.0.4:8787"),
        ("named", "https://dask.example.org/team"),
    ]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"targets": []}, "not a list of target groups: all of it"),
        ([{"labels": {}}], "not a list of target groups: 0.targets: Field required"),
        ([{"targets": [["x"]]}], "0.targets.0"),
        (b"<h1>It works!</h1>", "its answer is not JSON"),
        (b"[" * 100_000, "its answer is not JSON"),
        (403, "it answered with status 403"),
        (302, "redirects are not followed"),
    ],
)
def test_what_is_no_list_is_an_error_that_says_why(
    server: ListServer, document: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.respond = lambda path, query: document
    discovery = make_discovery("http_sd", server.url)
    caplog.set_level("INFO")
    answer = answer_of(discovery)
    assert reason in answer.reason
    assert reason in caplog.text
    # people who could scan a network with it get no reason before it answered once
    assert answer.error.startswith("No list of clusters arrived from this address.")
    discovery.answered = discovery.created
    assert reason in answer_of(discovery).error


def test_the_address_is_requested_with_its_query_and_the_credentials(server: ListServer) -> None:
    server.respond = lambda path, query: []
    discovery = make_discovery("http_sd", f"{server.url}/targets/?site=a&b=c", Credentials(token="s3cret"))
    assert look(discovery) == []
    path, headers = server.requests[-1]
    assert path == "/targets/?site=a&b=c"
    assert headers["Authorization"] == "Bearer s3cret"


def test_the_address_of_a_metadata_service_is_not_requested() -> None:
    discovery = make_discovery("http_sd", "http://169.254.169.254/latest/")
    assert "metadata service" in answer_of(discovery).reason


def test_credentials_that_cannot_be_decrypted_are_named() -> None:
    discovery = make_discovery("http_sd", "http://127.0.0.1:1/")
    discovery.secret = "of another key"
    assert "can't be decrypted" in answer_of(discovery).error
