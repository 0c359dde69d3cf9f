"""The path below which a site is, in requests and in URLs."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_script_prefix, reverse, set_script_prefix

from observatory.base.environment import public_url as public_url_setting
from observatory.clusters.addresses.public_urls import public_url
from observatory.config.http.sub_path import with_sub_path, without_sub_path


async def path_seen(middleware: Any, path: str) -> str:
    seen: list[str] = []

    async def inner(scope: dict[str, Any], *_: Any) -> None:
        seen.append(scope["path"])

    await middleware(inner, "/dask")({"type": "http", "path": path}, None, None)
    return seen[0]


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/dask/runs/", "/runs/"),
        ("/runs/", "/runs/"),
        ("/dask", "/"),
        ("/dask/", "/"),
        ("/dasked/", "/dasked/"),
    ],
)
async def test_our_layers_see_the_path_without_the_sub_path(path: str, seen: str) -> None:
    assert await path_seen(without_sub_path, path) == seen
    assert await path_seen(with_sub_path, seen) == "/dask" + seen


@pytest.mark.parametrize("prefix", ["/", "/dask/"])
def test_links_in_messages_have_the_sub_path_once_in_any_thread(prefix: str, settings: Any) -> None:
    settings.PUBLIC_URL = "https://tools.example.org/dask"
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        assert public_url(reverse("alerts")) == "https://tools.example.org/dask/alerts/"
    finally:
        set_script_prefix(before)


@pytest.mark.parametrize(
    "url", ["tools.example.org", "ftp://x", "https://", "https://x/a?b", "https://x/../a", "https://x/a b"]
)
def test_what_is_no_address_of_a_site_is_refused_by_name(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_PUBLIC_URL", url)
    with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_PUBLIC_URL"):
        public_url_setting()
