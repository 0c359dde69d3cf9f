"""Sign-in by OpenID Connect, against a real issuer process and a real web process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured

from observatory.base.sign_in.oidc import oidc
from observatory.clusters.accounts.models import GroupRole, Membership
from observatory.clusters.accounts.sign_in_links import sign_in_path
from observatory.runtime.supervision.subprocesses import die_with_parent
from tests.browser.observatory import free_port
from tests.pages.accounts.single_sign_on import tables
from tests.support.projects import World
from tests.support.web_process import web_process

LIMIT = 120
"""seconds for an answer"""
PEOPLE: list[dict[str, Any]] = [
    {
        "sub": "1",
        "email": "ann@example.org",
        "email_verified": True,
        "preferred_username": "ann",
        "groups": ["dask", "others"],
    },
    # who says to be somebody else, which the issuer has not verified
    {"sub": "2", "email": "owner@example.org", "email_verified": False, "preferred_username": "superuser"},
    {"sub": "3", "email": "owner@example.org", "email_verified": "true", "preferred_username": "owner"},
    {"sub": "4", "email": "owner@example.org", "email_verified": True, "preferred_username": "olga"},
]


@dataclass
class Site:
    """An Observatory whose people come from the issuer."""

    url: str
    issuer: subprocess.Popen[bytes]

    def sign_in(self, sub: str, way: str = "/sign-in/oidc/") -> tuple[requests.Session, requests.Response]:
        """The browser of the person, and the page on which the sign-in ends."""
        browser = requests.Session()
        asked = browser.get(f"{self.url}{way}", timeout=LIMIT)
        return browser, browser.post(asked.url, data={"sub": sub}, timeout=LIMIT)

    def name(self, page: requests.Response) -> str:
        """The user that a page names in its header."""
        found = re.search(r'class="menu user">\s*<summary><span>([^<]*)<', page.text)
        assert found, page.text[-2000:]
        return found[1]


@contextmanager
def issuer_process(port: int) -> Iterator[subprocess.Popen[bytes]]:
    people = [f"--user-claims={json.dumps(person)}" for person in PEOPLE]
    process = subprocess.Popen(
        [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *people],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent(),
    )
    try:
        deadline = time.monotonic() + LIMIT
        while not _answers(f"http://127.0.0.1:{port}/.well-known/openid-configuration"):
            assert process.poll() is None, "the issuer ended"
            assert time.monotonic() < deadline, "the issuer didn't start"
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=LIMIT).ok
    except requests.RequestException:
        return False


@pytest.fixture
def site(transactional_db: None, tmp_path: Path) -> Iterator[Site]:
    port, own = free_port(), free_port()
    variables = {
        "OBSERVATORY_OIDC_ISSUER": f"http://127.0.0.1:{port}/",
        "OBSERVATORY_OIDC_CLIENT_ID": "observatory",
        "OBSERVATORY_OIDC_CLIENT_SECRET": "s3cret",
        "OBSERVATORY_OIDC_NAME": "Example & Co",
        "OBSERVATORY_OIDC_GROUPS_CLAIM": "groups",
        "OBSERVATORY_PASSWORD_SIGN_IN": "0",
    }
    with issuer_process(port) as issuer, tables(variables), web_process(tmp_path, own, **variables) as url:
        yield Site(url, issuer)


def roles(user: User) -> list[str]:
    return sorted(Membership.objects.filter(user=user).values_list("role", flat=True))


@pytest.mark.long
def test_people_of_an_issuer_sign_in_and_are_nobody_else(world: World, site: Site) -> None:
    owner = world.people["owner"]
    owner.email = "Owner@example.org"
    owner.set_password("of the owner")
    owner.save()
    given = GroupRole.objects.create(group="dask", project=world.alpha, role="owner")

    page = requests.get(f"{site.url}/sign-in/?next=/projects/", timeout=LIMIT).text
    assert "Sign in with Example &amp; Co" in page
    assert "password" not in page.lower()
    found = re.search(r'href="(/sign-in/oidc/[^"]*)"', page)
    assert found
    browser, shown = site.sign_in("1", found[1])
    assert urlsplit(shown.url).path == "/projects/"
    assert site.name(shown) == "ann"
    ann = User.objects.get(username="ann")
    assert (ann.is_staff, ann.is_superuser, ann.has_usable_password()) == (False, False, False)
    assert ann.email == "ann@example.org"
    assert roles(ann) == ["owner"]
    rules = f"{site.url}/admin/alerts/rule/"
    assert browser.get(rules, timeout=LIMIT).status_code == 200

    # again: the same account, and what the group no longer gives is taken
    given.delete()
    browser, shown = site.sign_in("1")
    assert site.name(shown) == "ann"
    assert roles(ann) == []
    assert browser.get(rules, timeout=LIMIT).status_code == 403
    assert browser.post(f"{site.url}/sign-in/", data={}, timeout=LIMIT).status_code == 403

    # an address that is not verified, and names of others, lead to new accounts
    for sub in ("2", "3"):
        _, shown = site.sign_in(sub)
        made = User.objects.get(username=site.name(shown))
        assert made not in world.people.values()
        assert made.email == ""
    # a verified one leads to the account with it, which keeps its password
    for _ in range(2):
        _, shown = site.sign_in("4")
        assert site.name(shown) == "owner"
    owner.refresh_from_db()
    assert owner.check_password("of the owner")
    assert roles(owner) == ["owner"], "what was given by hand stays"

    # a link with somebody else's code is worth nothing in another browser
    stranger = requests.get(f"{site.url}/sign-in/oidc/callback/?code=x&state=y", timeout=LIMIT)
    assert stranger.status_code == 403
    assert "Signing in failed" in stranger.text
    [state] = parse_qs(urlsplit(browser.get(f"{site.url}/sign-in/oidc/", timeout=LIMIT).url).query)["state"]
    denial = {"error": "access_denied", "state": state}
    denied = browser.get(f"{site.url}/sign-in/oidc/callback/", params=denial, timeout=LIMIT)
    assert "It was cancelled." in denied.text

    User.objects.filter(username="ann").update(is_active=False)
    _, refused = site.sign_in("1")
    assert "Your account is deactivated" in refused.text

    # one-time links work without passwords
    browser = requests.Session()
    link = f"{site.url}{sign_in_path(world.people['superuser'])}"
    tokens = re.findall(r'csrfmiddlewaretoken" value="(\w+)"', browser.get(link, timeout=LIMIT).text)
    shown = browser.post(link, data={"csrfmiddlewaretoken": tokens[-1]}, timeout=LIMIT)
    assert site.name(shown) == "superuser"

    site.issuer.kill()
    site.issuer.wait()
    unreachable = requests.get(f"{site.url}/sign-in/oidc/", timeout=LIMIT)
    assert unreachable.status_code == 502
    assert "Example &amp; Co does not answer" in unreachable.text


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"ISSUER": "http://issuer.example.org"}, "OBSERVATORY_OIDC_ISSUER"),
        ({"ISSUER": "https://issuer.example.org"}, "OBSERVATORY_OIDC_CLIENT_ID"),
        ({"ISSUER": "https://issuer.example.org", "CLIENT_ID": "x"}, "OBSERVATORY_OIDC_CLIENT_SECRET"),
        (
            {"ISSUER": "https://x", "CLIENT_ID": "x", "CLIENT_SECRET": "y", "SCOPES": "email"},
            "OBSERVATORY_OIDC_SCOPES",
        ),
    ],
)
def test_an_issuer_that_is_not_described_in_full_is_refused_by_name(
    variables: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert oidc() is None
    for name, value in variables.items():
        monkeypatch.setenv(f"OBSERVATORY_OIDC_{name}", value)
    with pytest.raises(ImproperlyConfigured, match=named):
        oidc()
