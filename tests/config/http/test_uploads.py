"""Large files are taken from people who are signed in, on the page that imports, and from nobody else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.conf import LazySettings
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse

from observatory.config.http.uploads import imports
from tests.support.projects import World, world

__all__ = ["world"]


def scope(cookie: str) -> dict[str, Any]:
    return {
        "type": "http",
        "path": "/import/",
        "method": "POST",
        "headers": [(b"cookie", cookie.encode("latin-1"))],
    }


def cookie_of(client: Client) -> str:
    return f"a=b; {django_settings.SESSION_COOKIE_NAME}={client.session.session_key}"


@pytest.mark.django_db(transaction=True)
def test_a_session_of_somebodys_opens_the_way_for_a_large_file(world: World) -> None:
    assert asyncio.run(imports().may(scope(cookie_of(world.client("viewer")))))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "cookie", ["", "sessionid=", "sessionid=0123456789abcdef", "sessionid=\x00;;=\xff", "x" * 10_000, "=;="]
)
def test_anything_else_does_not(cookie: str) -> None:
    assert not asyncio.run(imports().may(scope(cookie)))


@pytest.mark.django_db(transaction=True)
def test_a_session_that_was_ended_or_is_nobodys_does_not(world: World) -> None:
    client = world.client("viewer")
    cookie = cookie_of(client)
    client.logout()
    assert not asyncio.run(imports().may(scope(cookie)))
    anonymous = Client()
    anonymous.session.save()
    assert not asyncio.run(imports().may(scope(cookie_of(anonymous))))


def test_it_is_the_pages_that_import_and_attach_and_their_limit_is_the_setting(
    settings: LazySettings,
) -> None:
    settings.IMPORT_LIMIT = 5 << 20
    paths = imports().paths
    assert paths.fullmatch(reverse("import"))
    assert paths.fullmatch(reverse("run-attachments", args=[41]))
    assert not paths.fullmatch(reverse("run-export", args=[41]))
    assert not paths.fullmatch("/runs/41/attachments/1/shift/")
    assert 5 << 20 < imports().limit < 6 << 20
