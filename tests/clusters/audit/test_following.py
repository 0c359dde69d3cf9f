"""Programs that follow the audit log, on a web process of its own."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from observatory.clusters.audit.api import MOST_FOLLOWERS
from observatory.clusters.tokens import access_tokens, ingest_tokens
from tests.agent.eventually import eventually
from tests.browser.observatory import free_port
from tests.support.projects import World
from tests.support.web_process import web_process

pytestmark = pytest.mark.django_db(transaction=True)


class Followers:
    """Programs with an access token."""

    def __init__(self, address: str, secret: str) -> None:
        self.place = urlsplit(address).netloc
        self.secret = secret
        self.connections: list[http.client.HTTPConnection] = []

    def ask(self) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.place, timeout=120)
        self.connections.append(connection)
        path = "/api/v1/audit?follow=true&kind=ingest%20token"
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.secret}"})
        return connection.getresponse()

    def leave(self) -> None:
        for connection in self.connections:
            connection.close()
        self.connections.clear()


@pytest.fixture
def token(world: World) -> tuple[Any, str]:
    """The access token of an owner."""
    return access_tokens.make(world.people["owner"], "siem", None)


@pytest.fixture
def followers(token: tuple[Any, str], tmp_path: Path) -> Iterator[Followers]:
    with web_process(tmp_path, free_port()) as address:
        found = Followers(address, token[1])
        yield found
        found.leave()


def next_entry(answer: http.client.HTTPResponse) -> dict[str, Any]:
    """Empty lines are sent while nothing comes."""
    for line in answer:
        if line.strip():
            entry: dict[str, Any] = json.loads(line)
            return entry
    raise AssertionError("the answer ended")


def test_who_follows_gets_what_comes_until_the_token_is_revoked(
    world: World, token: tuple[Any, str], followers: Followers
) -> None:
    answer = followers.ask()
    assert answer.status == 200
    for name in ("first", "second"):
        ingest_tokens.make(world.alpha, name, None)
        assert next_entry(answer)["subject"] == name
    access_tokens.revoke(world.people["owner"], token[0].pk)
    assert answer.read().strip() == b""


def test_places_of_followers_are_limited_and_free_when_their_clients_leave(followers: Followers) -> None:
    answers = [followers.ask() for _ in range(MOST_FOLLOWERS)]
    assert [answer.status for answer in answers] == [200] * MOST_FOLLOWERS
    refused = followers.ask()
    assert refused.status == 429
    assert b"ask without follow" in refused.read()
    followers.leave()

    def is_answered() -> bool:
        answer = followers.ask()
        if answer.status != 200:
            followers.leave()
        return answer.status == 200

    eventually(is_answered)
