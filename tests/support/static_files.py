"""The static files of the tests' server: bundles, and each file read once.

Otherwise the server and Chromium read 150 modules each time that a timeline is opened.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.http import Http404, HttpRequest, HttpResponse

from observatory.base.static.bundle import BUNDLED, bundle, bundle_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def _static_files_in_memory() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StaticFilesHandler, "serve", _serve)
        yield


def _serve(handler: StaticFilesHandler, request: HttpRequest) -> HttpResponse:
    path = handler.file_path(request.path)
    body = _content(path)
    headers = {"Content-Length": str(len(body)), "Cache-Control": "max-age=3600"}
    return HttpResponse(body, content_type=mimetypes.guess_type(path)[0], headers=headers)


@cache
def _content(path: str) -> bytes:
    bundles = {bundle_of(entry): entry for entry in BUNDLED}
    if path in bundles:
        return bundle(ROOT / bundles[path], ROOT).encode()
    found = finders.find(path)
    if not found:
        raise Http404(path)
    return Path(found).read_bytes()
