"""Sign-in by SAML, against a real identity provider process and a real web process."""

from __future__ import annotations

import html
import importlib.util
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import requests
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from playwright.sync_api import Browser

from observatory.base.sign_in.saml import saml
from observatory.clusters.accounts.models import GroupRole, Membership
from tests.browser.observatory import ROOT, free_port
from tests.pages.accounts.single_sign_on import GROUPS, tables
from tests.support.debian_servers import Process, listens, program
from tests.support.projects import World
from tests.support.web_process import web_process

LIMIT = 120
"""seconds for an answer"""


@dataclass
class Site:
    """An Observatory whose people come from the identity provider."""

    url: str
    sub_path: str
    provider: Process

    def ask(self, browser: requests.Session, person: str, fault: str = "", way: str = "") -> tuple[str, str]:
        """Where the identity provider lets the browser post to, and the response."""
        asked = browser.get(f"{self.url}{way or self.sub_path + '/sign-in/saml/'}", timeout=LIMIT)
        form = {"request": field(asked.text, "request"), "person": person, "fault": fault}
        page = browser.post(f"{origin(asked.url)}/answer", data=form, timeout=LIMIT).text
        [action] = re.findall(r'action="([^"]*)"', page)
        return html.unescape(action), field(page, "SAMLResponse")

    def sign_in(
        self, person: str, fault: str = "", way: str = ""
    ) -> tuple[requests.Session, requests.Response]:
        """The browser of the person, and the page on which the sign-in ends."""
        browser = requests.Session()
        _, response = self.ask(browser, person, fault, way)
        return browser, self.post(browser, response)

    def post(self, browser: requests.Session, response: str) -> requests.Response:
        form = {"SAMLResponse": response, "RelayState": "https://evil.example.org/"}
        return browser.post(f"{self.url}{self.sub_path}/sign-in/saml/acs/", data=form, timeout=LIMIT)


def origin(url: str) -> str:
    return urlsplit(url)._replace(path="", query="").geturl()


def field(page: str, name: str) -> str:
    [value] = re.findall(rf'name="{name}" value="([^"]*)"', page)
    return html.unescape(value)


def name(page: requests.Response) -> str:
    """The user that a page names in its header."""
    found = re.search(r'class="menu user">\s*<summary><span>([^<]*)<', page.text)
    assert found, page.text[-2000:]
    return found[1]


def refusal(page: requests.Response) -> str:
    """The reason on the page of a sign-in that failed."""
    assert "Signing in failed" in page.text, page.text[-2000:]
    found = re.search(r'class="card">\s*<p>([^<]*)<', page.text)
    assert found
    return html.unescape(found[1])


@contextmanager
def provider_process(folder: Path, port: int, service_provider: str) -> Iterator[Process]:
    arguments = [str(port), str(folder), program("xmlsec1", "xmlsec1"), service_provider]
    command = [sys.executable, "-m", "tests.pages.accounts.saml_identity_provider", *arguments]
    process = Process(command, folder / "provider.log", lambda: listens(port), cwd=ROOT)
    process.start()
    try:
        process.wait_until_ready()
        yield process
    finally:
        process.kill()


@contextmanager
def running(folder: Path, sub_path: str, **more: str) -> Iterator[Site]:
    port, own = free_port(), free_port()
    site = f"http://127.0.0.1:{own}{sub_path}"
    variables = {
        "OBSERVATORY_PUBLIC_URL": site,
        # another site for browsers: they send no session with its answer
        "OBSERVATORY_SAML_ISSUER": f"http://localhost:{port}/metadata",
        "OBSERVATORY_SAML_METADATA": f"http://localhost:{port}/metadata",
        "OBSERVATORY_SAML_NAME": "Example & Co",
        "OBSERVATORY_SAML_GROUPS_ATTRIBUTE": GROUPS,
        **more,
    }
    with (
        provider_process(folder, port, f"{site}/sign-in/saml/metadata/") as provider,
        tables(variables),
        web_process(folder, own, **variables) as url,
    ):
        yield Site(url, sub_path, provider)


def roles(user: User) -> list[str]:
    return sorted(Membership.objects.filter(user=user).values_list("role", flat=True))


@pytest.mark.long
def test_people_of_an_identity_provider_sign_in_and_are_nobody_else(
    transactional_db: None, tmp_path: Path, world: World
) -> None:
    owner = world.people["owner"]
    owner.email = "owner@example.org"
    owner.save()
    given = GroupRole.objects.create(group="dask", project=world.alpha, role="owner")
    with running(tmp_path, "", OBSERVATORY_PASSWORD_SIGN_IN="0") as site:
        page = requests.get(f"{site.url}/sign-in/?next=/projects/", timeout=LIMIT).text
        assert "Sign in with Example &amp; Co" in page
        assert "password" not in page.lower()
        found = re.search(r'href="(/sign-in/saml/[^"]*)"', page)
        assert found
        browser, shown = site.sign_in("1", way=found[1])
        assert urlsplit(shown.url).path == "/projects/"
        assert name(shown) == "ann"
        ann = User.objects.get(username="ann")
        assert (ann.is_staff, ann.is_superuser, ann.has_usable_password()) == (False, False, False)
        assert ann.email == "", "an address that nobody has verified is not kept"
        assert roles(ann) == ["owner"]
        rules = f"{site.url}/admin/alerts/rule/"
        assert browser.get(rules, timeout=LIMIT).status_code == 200

        # again: the same account, and what the group no longer gives is taken
        given.delete()
        _, shown = site.sign_in("1", way="/sign-in/saml/?next=https://evil.example.org/")
        assert (name(shown), origin(shown.url)) == ("ann", site.url), "neither next nor RelayState leads away"
        assert roles(ann) == []

        # names and addresses of others lead to new accounts
        for person in ("2", "3"):
            _, shown = site.sign_in(person)
            made = User.objects.get(username=name(shown))
            assert made not in world.people.values()
            assert made.email == ""

        _refuse_faults(site)
        User.objects.filter(username="ann").update(is_active=False)
        _, refused = site.sign_in("1")
        assert "Your account is deactivated" in refused.text

        site.provider.kill()  # its metadata is known
        asked = requests.get(f"{site.url}/sign-in/saml/", timeout=LIMIT, allow_redirects=False)
        assert asked.status_code == 302


def _refuse_faults(site: Site) -> None:
    """Whatever is wrong with an answer, a page says so, and nothing is made."""
    people = list(User.objects.order_by("pk").values_list("pk", "last_login"))
    for fault, reason in (
        ("unsigned", "not signed"),
        ("other key", "signature is not that"),
        ("expired", "has expired"),
        ("other audience", "for another site"),
        ("unasked", "not asked for"),
        ("transient", "NameID is transient"),
        ("refused", "did not sign you in"),
    ):
        _, page = site.sign_in("1", fault)
        assert page.status_code == 403
        assert reason in refusal(page), fault

    # one's own answer, changed
    browser = requests.Session()
    _, response = site.ask(browser, "1")
    changed = b64encode(b64decode(response).replace(b">1</ns1:NameID>", b">2</ns1:NameID>")).decode()
    assert "was changed" in refusal(site.post(browser, changed))
    # somebody else's, in another browser: and then it is used up for both
    stranger = requests.Session()
    assert "did not begin this sign-in" in refusal(site.post(stranger, response))
    assert "was used before" in refusal(site.post(browser, response))
    assert "no sign-in to complete" in refusal(
        browser.get(f"{site.url}/sign-in/saml/acs/finish/", timeout=LIMIT)
    )

    # what is no answer
    assert "no SAML response" in refusal(site.post(browser, ""))
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'
    assert "document type" in refusal(site.post(browser, b64encode(bomb).decode()))
    large = site.post(browser, "A" * 1_000_000)
    assert large.status_code == 413
    assert "more than 384 KiB" in refusal(large)
    acs = f"{site.url}/sign-in/saml/acs/"
    assert requests.get(acs, timeout=LIMIT).status_code == 405
    assert requests.post(acs, data=iter([b"x" * 500_000]), timeout=LIMIT).status_code == 413
    assert list(User.objects.order_by("pk").values_list("pk", "last_login")) == people


@pytest.mark.long
@pytest.mark.browser
def test_people_sign_in_below_a_path_with_a_browser(
    transactional_db: None, tmp_path: Path, world: World, chromium: Browser
) -> None:
    owner = world.people["owner"]
    owner.email = "Owner@example.org"
    owner.set_password("of the owner")
    owner.save()
    beside = {f"OBSERVATORY_OIDC_{part}": "x" for part in ("CLIENT_ID", "CLIENT_SECRET")}
    beside |= {"OBSERVATORY_OIDC_ISSUER": "http://127.0.0.1:1", "OBSERVATORY_OIDC_NAME": "Other SSO"}
    with running(tmp_path, "/dask", OBSERVATORY_SAML_TRUST_EMAIL="1", **beside) as site:
        with urlopen(f"{site.url}/dask/sign-in/saml/metadata/", timeout=LIMIT) as answer:
            assert answer.headers["Content-Type"] == "application/samlmetadata+xml"
            assert f'Location="{site.url}/dask/sign-in/saml/acs/"' in answer.read().decode()
        page = chromium.new_page(base_url=site.url)
        for person, expected in (("1", "ann"), ("3", "owner")):
            page.context.clear_cookies()
            page.goto("/dask/projects/", timeout=LIMIT * 1000)
            assert page.get_by_role("link", name="Sign in with Other SSO").is_visible()
            page.get_by_role("link", name="Sign in with Example & Co").click()
            page.get_by_label("Person").select_option(person)
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("button", name="Continue").click()
            page.wait_for_url(f"{site.url}/dask/projects/", timeout=LIMIT * 1000)
            assert page.locator(".menu.user summary span").first.inner_text() == expected
        page.close()
        assert User.objects.get(username="ann").email == "ann@example.org"
        # an address that an account had
        User.objects.filter(username="ann").update(email="new@example.org")
        for person in ("4", "5"):
            _, shown = site.sign_in(person)
            made = User.objects.get(username=html.unescape(name(shown)))
            assert made.username not in ("ann", "owner")
            assert made.email == ""
    owner.refresh_from_db()
    assert owner.check_password("of the owner"), "the account with the trusted address keeps its password"


SITE = "https://observatory.example.org"
COMPLETE = {"ISSUER": "urn:idp", "METADATA": "https://idp.example.org/metadata?app=1"}


def configured(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> Any:
    for variable, value in variables.items():
        monkeypatch.setenv(f"OBSERVATORY_SAML_{variable}", value)
    return saml(SITE)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"ISSUER": ""}, "OBSERVATORY_SAML_ISSUER"),
        ({"ISSUER": 'urn:"idp"'}, "OBSERVATORY_SAML_ISSUER"),
        ({"METADATA": ""}, "OBSERVATORY_SAML_METADATA"),
        ({"METADATA": "http://idp.example.org/"}, "OBSERVATORY_SAML_METADATA"),
        ({"METADATA": "idp.xml"}, "OBSERVATORY_SAML_METADATA"),
        ({"ENTITY_ID": "a b"}, "OBSERVATORY_SAML_ENTITY_ID"),
        ({"TRUST_EMAIL": "perhaps"}, "OBSERVATORY_SAML_TRUST_EMAIL"),
    ],
)
def test_an_identity_provider_that_is_not_described_in_full_is_refused_by_name(
    variables: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert saml(SITE) is None
    with pytest.raises(ImproperlyConfigured, match=named):
        configured(monkeypatch, COMPLETE | variables)


def test_the_addresses_of_the_site_are_those_of_its_public_url(monkeypatch: pytest.MonkeyPatch) -> None:
    found = configured(monkeypatch, COMPLETE)
    assert found.entity_id == f"{SITE}/sign-in/saml/metadata/"
    assert found.acs_url == f"{SITE}/sign-in/saml/acs/"
    with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_PUBLIC_URL"):
        saml("")


def test_without_the_library_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(
        "observatory.base.sign_in.saml.find_spec", lambda name: None if name == "onelogin" else find(name)
    )
    with pytest.raises(ImproperlyConfigured, match=re.escape("pip install 'dask-observatory[saml]'")):
        configured(monkeypatch, COMPLETE)
