"""Charts for frames of other sites: who may show them, how one signs in there, and the list of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from observatory.clusters.tokens import access_tokens
from observatory.pages.framed.charts import CHARTS
from observatory.pages.site.middleware import TOKEN_COOKIE
from tests.support.projects import World

ROOT = Path(__file__).parents[3]
HUB = "https://hub.example.org"
HEADERS = """
import json
import django
django.setup()
from django.conf import settings
from django.test import Client
paths = ("/clusters/1/individual-plots.json", "/admin/nothing/")
answers = {path: dict(Client().get(path).headers) for path in paths}
cookies = (settings.SESSION_COOKIE_SAMESITE, settings.CSRF_COOKIE_SAMESITE, settings.SESSION_COOKIE_SECURE)
print(json.dumps([answers, cookies]))
"""


def _headers(folder: Path, **variables: str) -> Any:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "observatory.config.settings",
        "OBSERVATORY_DATA_DIR": str(folder),
        "OBSERVATORY_ALLOWED_HOSTS": "testserver",
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-c", HEADERS],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_named_origins_may_frame_pages_and_get_cookies_over_https(tmp_path: Path) -> None:
    variables = {"OBSERVATORY_FRAME_ANCESTORS": HUB, "OBSERVATORY_PUBLIC_URL": "https://o.example.org"}
    answers, cookies = _headers(tmp_path, **variables)
    [plots, _] = answers.values()
    assert f"frame-ancestors {HUB};" in f"{plots['Content-Security-Policy']};"
    assert "X-Frame-Options" not in plots
    assert cookies == ["None", "None", True]
    answers, cookies = _headers(tmp_path, OBSERVATORY_FRAME_ANCESTORS=HUB)
    assert cookies == ["Lax", "Lax", False]


def test_without_the_setting_nobody_may(tmp_path: Path) -> None:
    answers, cookies = _headers(tmp_path, OBSERVATORY_PUBLIC_URL="https://o.example.org")
    for headers in answers.values():
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Frame-Options"] == "DENY"
    assert cookies == ["Lax", "Lax", True]


@pytest.fixture
def framing(settings: Any) -> None:
    settings.FRAME_ANCESTORS = [HUB]
    directives = {**settings.CONTENT_SECURITY_POLICY["DIRECTIVES"], "frame-ancestors": [HUB]}
    settings.CONTENT_SECURITY_POLICY = {"DIRECTIVES": directives}


def test_the_admin_is_never_framed(framing: None, world: World) -> None:
    for path, ancestors in (("/admin/", "'none'"), ("/clusters/", HUB)):
        policy = world.client("superuser").get(path).headers["Content-Security-Policy"]
        assert f"frame-ancestors {ancestors};" in f"{policy};"


def test_the_list_is_that_of_dasks_dashboard_for_everybody_and_every_number(world: World) -> None:
    answers = [
        Client().get(f"/clusters/{number}/individual-plots.json") for number in (world.live.pk, 999_999)
    ]
    assert answers[0].content == answers[1].content
    assert answers[0].headers["Access-Control-Allow-Origin"] == "*"
    plots = answers[0].json()
    assert plots["Individual Task Stream"] == "/individual-task-stream"
    for path in plots.values():
        answer = world.client("viewer").get(f"/clusters/{world.live.pk}{path}")
        assert answer.status_code == 200
        assert 'data-chart="' in answer.content.decode()
    assert len(plots) == len(CHARTS)


def test_a_chart_is_for_those_who_may_see_the_cluster(world: World) -> None:
    path = f"/clusters/{world.live.pk}/individual-progress"
    assert world.client("outsider").get(path).status_code == 404
    assert world.client("viewer").get(f"/clusters/{world.live.pk}/individual-nothing").status_code == 404
    answer = Client().get(path)
    assert answer.status_code == 401
    assert "http://testserver/sign-in/" in answer.content.decode()
    assert world.live.name not in answer.content.decode()
    assert Client().get("/clusters/999999/individual-progress").content == answer.content


def test_an_access_token_in_the_address_signs_a_frame_in_to_read(framing: None, world: World) -> None:
    _, secret = access_tokens.make(world.people["editor"], "jupyter", None)
    path, client = f"/clusters/{world.live.pk}/individual-progress", Client()
    answer = client.get(f"{path}?access_token={secret}&live=60")
    assert answer.headers["Location"] == f"{path}?live=60"
    assert Client().get(f"{path}?access_token={secret}").headers["Location"] == path
    cookie = answer.cookies[TOKEN_COOKIE]
    assert (cookie["httponly"], cookie["path"], cookie["expires"]) == (True, "/", "")
    page = client.get(answer.headers["Location"])
    assert page.status_code == 200
    assert "data-live" not in page.content.decode()  # sockets have sessions
    assert secret not in page.content.decode()
    assert client.get(f"/api/v1/clusters/{world.live.pk}").status_code == 200
    assert client.post("/api/v1/runs", {}, "application/json").status_code == 401
    assert client.delete(f"/api/v1/runs/{world.run.pk}").status_code == 401
    assert client.get("/clusters/").status_code == 302
    access_tokens.AccessToken.objects.all().delete()
    assert client.get(path).status_code == 401
    assert client.get(f"/api/v1/clusters/{world.live.pk}").status_code == 401


def test_a_token_shows_what_its_owner_may_see_and_a_wrong_one_nothing(framing: None, world: World) -> None:
    _, secret = access_tokens.make(world.people["outsider"], "jupyter", None)
    path, client = f"/clusters/{world.live.pk}/individual-progress", Client()
    client.get(f"{path}?access_token={secret}")
    assert client.get(path).status_code == 404
    for wrong in ("obp_wrong", "", "x" * 5000):
        answer = Client().get(f"{path}?access_token={wrong}")
        assert answer.status_code == 401
        assert "unknown, revoked or expired" in answer.content.decode()
        assert TOKEN_COOKIE not in answer.cookies


def test_where_nobody_may_frame_a_token_in_an_address_or_a_cookie_is_nothing(world: World) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "jupyter", None)
    path, client = f"/clusters/{world.live.pk}/individual-progress", Client()
    answer = client.get(f"{path}?access_token={secret}")
    assert (answer.status_code, TOKEN_COOKIE in answer.cookies) == (401, False)
    client.cookies[TOKEN_COOKIE] = secret
    assert client.get(path).status_code == 401
    assert client.get(f"/api/v1/clusters/{world.live.pk}").status_code == 401
