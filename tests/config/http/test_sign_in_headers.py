"""A header of a trusted proxy signs people in, on pages, in the API and on sockets. Nobody else's does."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from observatory.base.environment import groups_header, sign_in_header
from observatory.clusters.accounts.models import GroupRole, Membership
from tests.browser.observatory import free_port
from tests.support.projects import World
from tests.support.web_process import web_process

PROXY, STRANGER = "127.0.0.2", "127.0.0.1"
ANN = {"X-Forwarded-User": "ann@example.org", "X-Forwarded-Groups": "ops, dask"}


class Site:
    """Requests to a web process that trusts PROXY."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(
        self, path: str, headers: Mapping[str, str], peer: str = PROXY, cookie: str = ""
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, 120, source_address=(peer, 0))
        connection.request("GET", path, headers={**headers, **({"Cookie": cookie} if cookie else {})})
        return connection.getresponse()

    def person(self, headers: Mapping[str, str], peer: str = PROXY) -> str | None:
        """Who the API takes somebody for, by the projects; None: nobody."""
        answer = self.get("/api/v1/projects", headers, peer)
        if answer.status != 200:
            return None
        return (
            ", ".join(f"{project['role']} of {project['slug']}" for project in json.load(answer))
            or "somebody"
        )

    def closed_with(
        self, cluster: int, headers: Mapping[str, str], peer: str, cookie: str = ""
    ) -> int | None:
        """The code with which a live socket is closed; None: it sends blocks."""
        with (
            socket.create_connection(("127.0.0.1", self.port), 120, (peer, 0)) as connection,
            connect(
                f"ws://127.0.0.1:{self.port}/ws/clusters/{cluster}/live",
                sock=connection,
                origin=f"http://127.0.0.1:{self.port}",  # type: ignore[arg-type]
                additional_headers={**headers, **({"Cookie": cookie} if cookie else {})},
            ) as page,
        ):
            try:
                while not isinstance(page.recv(60), bytes):
                    pass
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else 0
        return None


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    port = free_port()
    variables = {
        "OBSERVATORY_TRUSTED_PROXIES": PROXY,
        "OBSERVATORY_SIGN_IN_HEADER": "X-Forwarded-User",
        "OBSERVATORY_GROUPS_HEADER": "X-Forwarded-Groups",
    }
    with web_process(folder, port, **variables):
        yield Site(port)


def test_who_a_trusted_proxy_names_is_signed_in_and_nobody_else(
    world: World, transactional_db: None, tmp_path: Path
) -> None:
    GroupRole.objects.create(group="dask", project=world.alpha, role="editor")
    live = world.live.pk
    with site(tmp_path) as observatory:
        # spoofed: from another address, by an underscore, twice
        assert observatory.person(ANN, STRANGER) is None
        assert observatory.person({"X_Forwarded_User": "superuser"}) is None
        assert observatory.get("/clusters/", ANN, STRANGER).status == 302
        assert observatory.closed_with(live, ANN, STRANGER) == 4401
        assert not User.objects.filter(username=ANN["X-Forwarded-User"]).exists()
        assert observatory.person({"X-Forwarded-User": "no user name"}) is None

        # the API without a cookie
        assert observatory.person(ANN) == "editor of alpha"
        made = User.objects.get(username=ANN["X-Forwarded-User"])
        assert (made.is_staff, made.is_superuser, made.has_usable_password()) == (False, False, False)
        assert observatory.person({**ANN, "X-Forwarded-Groups": ""}) == "somebody"

        # pages and sockets
        page = observatory.get("/clusters/", ANN)
        assert page.status == 200
        assert "ann@example.org" in page.read().decode()
        cookie = next(
            value.partition(";")[0]
            for value in page.headers.get_all("Set-Cookie", [])
            if "sessionid" in value
        )
        assert observatory.closed_with(live, ANN, PROXY, cookie) is None
        assert observatory.closed_with(world.elsewhere.pk, ANN, PROXY, cookie) == 4404
        # the session is worth nothing without the proxy
        assert observatory.closed_with(live, {}, STRANGER, cookie) == 4401
        assert observatory.get("/clusters/", ANN, STRANGER, cookie).status == 302
        # new groups count at once, and another person has no part in the session
        page = observatory.get("/clusters/", {**ANN, "X-Forwarded-Groups": "ops"}, cookie=cookie)
        assert not Membership.objects.filter(user=made).exists()
        other = observatory.get("/clusters/", {"X-Forwarded-User": "viewer"}, cookie=cookie)
        assert "viewer" in other.read().decode()

        User.objects.update(is_active=False)
        assert observatory.get("/clusters/", ANN).status == 403


def test_a_header_that_everybody_could_send_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_SIGN_IN_HEADER", "X-Forwarded-User")
    with pytest.raises(ImproperlyConfigured, match="needs OBSERVATORY_TRUSTED_PROXIES"):
        sign_in_header([])
    assert sign_in_header(["10.0.0.0/8"]) == "X-Forwarded-User"
    monkeypatch.setenv("OBSERVATORY_SIGN_IN_HEADER", "X-Forwarded-User: ann")
    with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_SIGN_IN_HEADER"):
        sign_in_header(["10.0.0.0/8"])
    monkeypatch.setenv("OBSERVATORY_GROUPS_HEADER", "X-Forwarded-Groups")
    with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_GROUPS_HEADER"):
        groups_header("")
