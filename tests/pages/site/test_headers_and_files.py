"""Security headers, and static files: found, versioned, compressed."""

from __future__ import annotations

import asyncio
import gzip
import re
import shutil
from pathlib import Path
from typing import Any

from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client, RequestFactory

from observatory.base.static.bundle import BUNDLED, bundle, bundle_of
from observatory.base.static.version import is_collected, static_version
from observatory.clusters.accounts.sign_in_links import sign_in_path
from observatory.config.http.static_files import StaticFiles
from observatory.pages.site.errors import server_error
from observatory.pages.site.static import CompressedStorage
from tests.support.projects import World

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 120
"""seconds to wait for an answer"""


def test_every_answer_forbids_foreign_and_inline_code_and_frames(world: World) -> None:
    for path in ("/clusters/", f"/clusters/{world.live.pk}/", "/api/v1/clusters", "/nothing/"):
        answer = world.client("superuser").get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in f"{policy};"
        assert "style-src 'self';" in f"{policy};"
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_only_the_admin_may_evaluate_its_expressions_and_only_for_staff(world: World) -> None:
    policy = world.client("superuser").get("/admin/").headers["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-eval';" in f"{policy};"
    assert "style-src-attr 'unsafe-inline'" in policy
    assert policy.count("unsafe") == 2
    assert "style-src 'self' 'sha256-" in policy, "Plotly's style elements"
    assert "unsafe" not in world.client("viewer").get("/admin/").headers["Content-Security-Policy"]


def test_pages_with_data_are_in_no_cache(world: World) -> None:
    client = world.client("superuser")
    cluster, run = f"/clusters/{world.live.pk}", f"/runs/{world.run.pk}"
    for path in (
        "/clusters/",
        f"{cluster}/",
        f"{cluster}/logs/",
        "/runs/",
        f"{run}/",
        "/projects/alpha/",
        "/admin/",
    ):
        assert "no-store" in client.get(path).headers["Cache-Control"], path
        assert "private" in client.get(path).headers["Cache-Control"], path


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(world: World) -> None:
    client = Client()
    client.post(sign_in_path(world.people["viewer"]))
    assert client.cookies["sessionid"]["httponly"]
    assert client.cookies["sessionid"]["samesite"] == "Lax"


def test_a_failure_has_a_page_and_json_that_need_no_database() -> None:
    page = server_error(RequestFactory().get("/clusters/"))
    assert page.status_code == 500
    assert b"Recorded data isn't affected" in page.content
    assert (
        server_error(RequestFactory().get("/api/v1/clusters")).headers["Content-Type"] == "application/json"
    )


def test_plotly_is_served_from_its_wheel_and_nothing_else_of_it() -> None:
    found = finders.find("vendor/plotly.min.js")
    assert isinstance(found, str)
    assert Path(found).stat().st_size > 1_000_000
    assert finders.find("vendor/widgetbundle.js") is None


def test_static_urls_hold_a_version_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("1")
    first = static_version(tmp_path)
    assert static_version(tmp_path) == first
    (tmp_path / "a.js").write_text("2")
    second = static_version(tmp_path)
    (tmp_path / "a.js").rename(tmp_path / "b.js")
    assert len({first, second, static_version(tmp_path)}) == 3
    assert f"/static/{settings.STATIC_VERSION}/" == settings.STATIC_URL


def test_collected_files_are_compressed_once_and_served_as_immutable(tmp_path: Path, settings: Any) -> None:
    source = tmp_path / "source.js"
    source.write_text("let something = 1;\n" * 200)
    root = tmp_path / "static"
    root.mkdir()
    shutil.copy(source, root / "some.js")
    settings.STATIC_ROOT = root
    settings.WHITENOISE_USE_FINDERS = False
    assert not is_collected(root, settings.STATIC_VERSION)
    storage = CompressedStorage(location=root)
    assert len(list(storage.post_process({"some.js": (storage, "some.js")}))) == 2
    assert list(storage.post_process({"some.js": (storage, "some.js")})) == []
    assert is_collected(root, settings.STATIC_VERSION)

    serve = StaticFiles(refused)
    path = f"{settings.STATIC_URL}some.js"
    status, headers, body = asyncio.run(asked(serve, path, {"accept-encoding": "gzip"}))
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert "immutable" in headers["cache-control"]
    assert headers["x-content-type-options"] == "nosniff"
    assert gzip.decompress(body) == source.read_bytes()
    assert asyncio.run(asked(serve, path, {"accept-encoding": "br"}))[1]["content-encoding"] == "br"
    assert asyncio.run(asked(serve, path, {"if-none-match": headers["etag"]}))[0] == 304
    assert asyncio.run(asked(serve, path, method="POST"))[0] == 405
    assert asyncio.run(asked(serve, path, {"range": "bytes=0-2"}))[::2] == (206, b"let")
    for outside in (
        f"{settings.STATIC_URL}version.js",
        f"{settings.STATIC_URL}../static/some.js",
        "/some.js",
    ):
        assert asyncio.run(asked(serve, outside))[0] == 404


def test_files_are_compressed_from_the_first_start_and_the_collected_ones_used_when_complete(
    tmp_path: Path, settings: Any
) -> None:
    settings.STATIC_ROOT = root = tmp_path / "static"
    root.mkdir()
    settings.WHITENOISE_USE_FINDERS = True
    serve = StaticFiles(refused)
    path = f"{settings.STATIC_URL}frontend/tabs.js"
    found = finders.find("frontend/tabs.js")
    assert found
    whole = Path(found).read_bytes()

    status, headers, body = asyncio.run(asked(serve, path, {"accept-encoding": "br, gzip"}))
    assert (status, headers["content-encoding"], headers["vary"]) == (200, "gzip", "Accept-Encoding")
    assert "immutable" in headers["cache-control"]
    assert int(headers["content-length"]) == len(body) < len(whole) / 2
    assert gzip.decompress(body) == whole
    assert asyncio.run(asked(serve, path))[2] == whole

    path = f"{settings.STATIC_URL}frontend/styles/site.bundle.css"
    status, headers, body = asyncio.run(asked(serve, path, {"accept-encoding": "gzip"}))
    assert (status, headers["content-type"]) == (200, 'text/css; charset="utf-8"')
    assert "immutable" in headers["cache-control"]
    assert gzip.decompress(body).decode() == bundle(ROOT / "frontend/styles/site.css", ROOT)
    status, headers, body = asyncio.run(asked(serve, path, method="HEAD"))
    assert (status, int(headers["content-length"]) > 1_000, body) == (200, True, b"")
    assert asyncio.run(asked(serve, path, method="POST"))[0] == 405

    (root / "some.js").write_text("let something = 1;\n" * 200)
    storage = CompressedStorage(location=root)
    list(storage.post_process({"some.js": (storage, "some.js")}))
    path = f"{settings.STATIC_URL}some.js"
    assert asyncio.run(asked(serve, path, {"accept-encoding": "br"}))[1]["content-encoding"] == "br"
    assert not settings.WHITENOISE_USE_FINDERS


async def refused(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def asked(
    serve: StaticFiles, path: str, headers: dict[str, str] | None = None, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body."""
    answer = ApplicationCommunicator(
        serve,
        {
            "type": "http",
            "method": method,
            "path": path,
            "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
        },
    )
    start, body = await answer.receive_output(LIMIT), await answer.receive_output(LIMIT)
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return int(start["status"]), found, body["body"]


def test_every_static_file_that_a_page_names_is_there(world: World, client: Client) -> None:
    for path in ("/clusters/", f"/clusters/{world.live.pk}/", "/targets/", "/admin/"):
        text = world.client("superuser").get(path).content.decode()
        named = re.findall(rf'"{settings.STATIC_URL}([^"]+)"', text)
        assert named
        for name in named:
            assert name in map(bundle_of, BUNDLED) or finders.find(name), f"{path} names {name}"
