"""Credentials of targets are entered in pages, the admin, the API and the command, and never come back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.management import CommandError, call_command

from observatory.clusters.models import Target
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.credentials.storage import seal, unseal
from tests.collect.dask_processes import scheduler
from tests.support.certificates import Authority, as_pem
from tests.support.nginx import PASSWORD, TOKEN, WAYS, Proxy, behind_nginx
from tests.support.projects import World

EXPIRED = dict(zip(("certificate", "key"), Authority().issue("a", -timedelta(days=1)), strict=True))
FORM = {"enabled": "on", "identity_interval": 1, "metrics_interval": 5, "series_limit": 50000}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with scheduler() as dask, behind_nginx(dask, tmp_path_factory.mktemp("nginx")) as running:
        yield running


@pytest.fixture
def target(world: World, proxy: Proxy) -> Target:
    """A target with a token and a private authority."""
    world.target.url = proxy.url("token")
    world.target.secret = seal(Credentials(token=TOKEN, ca=proxy.authority.pem))
    world.target.save()
    return world.target


def sent(world: World, method: str, path: str, data: dict[str, Any], role: str = "editor") -> Any:
    return getattr(world.client(role), method)(path, data, content_type="application/json")


def as_api(fields: dict[str, str]) -> dict[str, Any]:
    """The fields of a form as the API has them: headers are an object."""
    lines = [line.split(": ") for line in fields.get("headers", "").splitlines()]
    return {**fields, **({"headers": dict(lines)} if lines else {})}


@pytest.mark.parametrize("way", WAYS)
def test_the_api_adds_a_target_with_credentials_and_returns_none_of_them(
    world: World, proxy: Proxy, way: str
) -> None:
    fields = proxy.credentials(way)
    new = {"project": "alpha", "url": proxy.url(way), "credentials": as_api(fields)}
    answer = sent(world, "post", "/api/v1/targets", new)
    assert answer.status_code == 201, answer.content
    added = Target.objects.get(url=proxy.url(way))
    assert unseal(added.secret).as_fields() == {name: text.strip() for name, text in fields.items()}
    stored = answer.json()["stored_credentials"]
    assert stored == (["token", "ca", "certificate"] if way == "tls" else [way])
    shown = world.client("editor").get("/api/v1/targets").content + answer.content
    page = world.client("editor").get(f"/targets/{added.pk}/").content
    for name, value in fields.items():
        if name != "username":
            for text in (added.secret.encode(), shown, page):
                assert value.splitlines()[-1].encode() not in text
                assert value.splitlines()[0].encode() not in text


def test_without_the_right_credentials_the_address_is_refused(world: World, proxy: Proxy) -> None:
    for credentials in ({}, {"token": "another"}):
        new = {"project": "alpha", "url": proxy.url("token"), "credentials": credentials}
        answer = sent(world, "post", "/api/v1/targets", new)
        assert answer.status_code == 422
        assert list(answer.json()["errors"]) == ["url"]


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"username": "ann"}, "password", "Enter the password"),
        ({"password": "p"}, "username", "Enter the user name"),
        ({"username": "a:b", "password": "p"}, "username", "no colon"),
        ({"username": "ann", "password": "p", "token": "t"}, "token", "exclude each other"),
        ({"token": "t", "headers": {"Authorization": "token x"}}, "token", "exclude each other"),
        ({"token": "a\nX-Injected: 1"}, "token", "line breaks"),
        ({"token": "t" * 9000}, "token", "longer than"),
        ({"headers": {"Host": "elsewhere"}}, "headers", "cannot be set"),
        ({"headers": {"X Y": "1"}}, "headers", "one header a line"),
        ({"headers": {"X": "1", "x": "2"}}, "headers", "twice"),
        ({"headers": {f"X-{number}": "1" for number in range(21)}}, "headers", "At most 20"),
        ({"ca": "no certificate"}, "ca", "PEM format"),
        ({"certificate": "no certificate", "key": "x"}, "certificate", "PEM format"),
        ({"certificate": Authority().issue("a")[0]}, "key", "Enter the private key"),
        ({"key": Authority().issue("a")[1]}, "certificate", "Enter the certificate"),
        ({"certificate": Authority().issue("a")[0], "key": Authority().issue("b")[1]}, "key", "not that of"),
        (
            {
                "certificate": Authority().issue("a")[0],
                "key": as_pem(ec.generate_private_key(ec.SECP256R1()), "passphrase"),
            },
            "key",
            "encrypted",
        ),
        (EXPIRED, "certificate", "expired"),
    ],
)
def test_wrong_credentials_are_refused_with_the_reason_and_without_the_secret(
    world: World, fields: dict[str, Any], field: str, reason: str
) -> None:
    new = {"project": "alpha", "url": "http://10.1.2.9:8787", "credentials": fields}
    answer = sent(world, "post", "/api/v1/targets", new)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [field]
    assert reason in answer.json()["detail"]
    assert "BEGIN" not in answer.json()["detail"].replace("-----BEGIN CERTIFICATE-----", "")


def test_a_change_keeps_what_it_does_not_name_and_removes_what_it_empties(
    world: World, target: Target
) -> None:
    path = f"/api/v1/targets/{target.pk}"
    before = target.secret
    assert sent(world, "patch", path, {"metrics_interval": 30}).status_code == 200
    target.refresh_from_db()
    assert target.secret == before
    answer = sent(world, "patch", path, {"credentials": {"ca": "", "headers": {}}})
    assert answer.status_code == 200, answer.content
    assert answer.json()["stored_credentials"] == ["token"]
    target.refresh_from_db()
    assert unseal(target.secret) == Credentials(token=TOKEN)


def test_stored_secrets_go_to_no_other_address_and_to_no_worker_that_did_not_get_them(
    world: World, target: Target, proxy: Proxy
) -> None:
    path = f"/api/v1/targets/{target.pk}"
    for change, field in (({"url": proxy.url("headers")}, "url"), ({"workers": "credentials"}, "workers")):
        answer = sent(world, "patch", path, change)
        assert answer.status_code == 422
        assert "enter the credentials again" in answer.json()["errors"][field][0]
    again = {"workers": "credentials", "credentials": {"token": TOKEN}}
    assert sent(world, "patch", path, again).status_code == 200
    target.refresh_from_db()
    assert target.workers == Target.Workers.CREDENTIALS


def test_the_page_says_what_is_stored_keeps_it_and_removes_it(world: World, target: Target) -> None:
    client = world.client("editor")
    path = f"/targets/{target.pk}/"
    fields = {**FORM, "name": "analysis", "url": target.url, "workers": "direct"}
    page = client.get(path).content.decode()
    assert "Stored: bearer token. Leave empty to keep it." in page
    assert "Stored: CN=Private CA, valid until" in page
    assert client.post(path, fields).status_code == 302
    target.refresh_from_db()
    assert unseal(target.secret).parts() == ["token", "ca"]
    assert client.post(path, {**fields, "forget": ["ca"]}).status_code == 302
    target.refresh_from_db()
    assert unseal(target.secret).parts() == ["token"]


def test_a_form_with_errors_does_not_show_the_secrets_again(world: World, proxy: Proxy) -> None:
    entered = {"password": PASSWORD, "token": TOKEN, "headers": "X-Api-Key: s3cret", "key": "s3cret key"}
    fields = {**FORM, **entered, "project": world.alpha.pk, "url": proxy.url("token")}
    for role, path in (("editor", "/targets/"), ("superuser", "/admin/clusters/target/add/")):
        page = world.client(role).post(path, fields).content.decode()
        assert "exclude each other" in page or "Enter the user name" in page
        assert not [secret for secret in (PASSWORD, TOKEN, "s3cret") if secret in page]


def test_the_subject_of_a_certificate_is_escaped(world: World, target: Target) -> None:
    target.secret = seal(Credentials(ca=Authority("<img src=x onerror=alert(1)>").pem))
    target.save()
    for role, path in (
        ("editor", f"/targets/{target.pk}/"),
        ("superuser", f"/admin/clusters/target/{target.pk}/change/"),
    ):
        page = world.client(role).get(path).content
        assert b"<img src=x" not in page
        assert b"&lt;img src=x" in page.replace(b"\\", b"")


def test_credentials_of_another_secret_key_can_be_entered_again(world: World, target: Target) -> None:
    target.secret = "of another key"
    target.save()
    page = world.client("editor").get(f"/targets/{target.pk}/").content
    assert b"can&#x27;t be decrypted" in page or b"can't be decrypted" in page
    path = f"/api/v1/targets/{target.pk}"
    assert sent(world, "patch", path, {"credentials": {"token": TOKEN}}).status_code == 200
    target.refresh_from_db()
    assert unseal(target.secret) == Credentials(token=TOKEN)


def test_the_admin_sets_credentials(world: World, proxy: Proxy) -> None:
    fields = {**FORM, "project": world.alpha.pk, "url": proxy.url("token"), "token": TOKEN}
    assert world.client("superuser").post("/admin/clusters/target/add/", fields).status_code == 302
    assert unseal(Target.objects.get(url=proxy.url("token")).secret) == Credentials(token=TOKEN)


def watch(*arguments: str) -> str:
    output = StringIO()
    call_command("watch", *arguments, stdout=output)
    return output.getvalue()


@pytest.mark.django_db
def test_the_command_reads_secrets_from_files(proxy: Proxy, tmp_path: Path) -> None:
    arguments = ["--workers", "proxy"]
    for name, text in proxy.credentials("tls").items():
        (tmp_path / name).write_text(f"{text}\n")
        arguments += [f"--{name}-file", str(tmp_path / name)]
    assert TOKEN not in watch(proxy.url("tls"), *arguments)
    added = Target.objects.get()
    assert unseal(added.secret).token == TOKEN
    assert added.workers == Target.Workers.PROXY
    with pytest.raises(CommandError, match="cannot be read"):
        watch(proxy.url("token"), "--token-file", str(tmp_path / "missing"))


@pytest.mark.django_db
def test_the_command_reads_secrets_from_the_environment(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBSERVATORY_TARGET_TOKEN", TOKEN)
    watch(proxy.url("token"))
    monkeypatch.delenv("OBSERVATORY_TARGET_TOKEN")
    monkeypatch.setenv("OBSERVATORY_TARGET_PASSWORD", PASSWORD)
    watch(proxy.url("basic"), "--username", "ann")
    assert [unseal(one.secret).parts() for one in Target.objects.order_by("pk")] == [["token"], ["basic"]]
