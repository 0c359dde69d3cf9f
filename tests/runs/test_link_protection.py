"""Tokens of links are neither in the database nor in logs, and a link can't be requested without end."""

from __future__ import annotations

import logging
from io import StringIO

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.config.logging.format import Line
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing import picture as pictures
from observatory.runs.sharing.links import find_link, make_link


@pytest.fixture
def link(cluster: Cluster) -> Permalink:
    run = Run.objects.create(cluster=cluster, name="nightly", origin="cut", start=cluster.started, stop=now())
    author = User.objects.create_user("jane", password=None)
    return make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), author)


def test_the_database_has_no_token_in_plain_text(link: Permalink) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT runs_permalink::text FROM runs_permalink")
        (row,) = cursor.fetchone()
    assert link.token not in row
    assert find_link(link.token) == link


def test_a_link_works_after_a_change_of_the_secret_key_but_is_not_shown(
    link: Permalink, settings: LazySettings, client: Client
) -> None:
    token = link.token
    settings.SECRET_KEY = "another" * 10
    assert link.token == ""
    assert client.get(f"/r/{token}").status_code == 200
    client.force_login(User.objects.create_superuser("admin", password=None))
    page = client.get(f"/runs/{link.run_id}/links/").content.decode()
    assert "can’t be shown" in page
    assert token not in page


def test_an_unknown_link_is_logged_without_its_token(db: None, client: Client) -> None:
    output = StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(Line("%(message)s"))
    logging.getLogger("django.request").addHandler(handler)
    try:
        for path in ("/r/a-revoked-token-x", "/api/v1/r/a-revoked-token-x/state?at=1"):
            assert client.get(path).status_code == 404
        client.get("/sign-in/once/MQ/a-revoked-token-x/")
    finally:
        logging.getLogger("django.request").removeHandler(handler)
    assert output.getvalue().count("/r/…") == 2
    assert "a-revoked-token" not in output.getvalue()


@pytest.mark.parametrize(
    "line",
    [
        "Not Found: /r/SECRET-token",
        "Not Found: /api/v1/r/SECRET-token/tiles/tasks/20/5",
        "Bad Request: /sign-in/once/MQ/SECRET-token/",
        "GET /sign-in/?next=%2Fr%2FSECRET-token%3Fat%3D1",
    ],
)
def test_tokens_in_paths_are_left_out_of_log_lines(line: str) -> None:
    record = logging.LogRecord("django.request", logging.WARNING, "", 0, "%s", (line,), None)
    shown = Line("%(message)s").format(record)
    assert "SECRET" not in shown
    assert "…" in shown


def test_the_console_uses_the_format_without_tokens(settings: LazySettings) -> None:
    assert settings.LOGGING["formatters"]["line"]["()"] == "observatory.config.logging.format.Line"


def test_a_client_that_requests_a_link_too_often_has_to_wait(
    link: Permalink, settings: LazySettings, client: Client
) -> None:
    settings.LINK_REQUESTS = 3
    path = f"/api/v1/r/{link.token}"
    assert [client.get(path).status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    refused = client.get(f"/r/{link.token}")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert "requested too often" in refused.content.decode()
    assert client.get(path, REMOTE_ADDR="10.9.8.7").status_code == 200


def test_a_client_with_many_ipv6_addresses_counts_as_one(
    link: Permalink, settings: LazySettings, client: Client
) -> None:
    settings.LINK_REQUESTS = 2
    answers = [client.get(f"/r/{link.token}", REMOTE_ADDR=f"2001:db8::{number}") for number in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]


def test_a_picture_is_drawn_once_until_the_run_changes(
    link: Permalink, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    draw = pictures.picture
    monkeypatch.setattr(pictures, "picture", lambda *reported: drawn.append(reported) or draw(*reported))
    first, second = (client.get(f"/r/{link.token}/picture.png").content for _ in range(2))
    assert first == second
    assert len(drawn) == 1
    Run.objects.update(name="renamed")
    assert client.get(f"/r/{link.token}/picture.png").content != first
    assert len(drawn) == 2
