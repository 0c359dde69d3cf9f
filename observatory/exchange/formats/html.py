"""HTML report: a run with its interactive timeline in one file, without server or network."""

from __future__ import annotations

import base64
import gzip
import hashlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO

from django.conf import settings
from django.template.loader import render_to_string

from observatory.alerts.web.fired import fired_of
from observatory.base.static.bundle import bundle
from observatory.clusters.formatting import format_duration
from observatory.comparison.card.drawing import drawn_card
from observatory.exchange.formats.base import Progress
from observatory.exchange.formats.report import finest_series, report_of
from observatory.replay.scope import Scope
from observatory.replay.tabs import tabs_of
from observatory.replay.tiles.bins import MINIMUM_SPAN_BINS
from observatory.runs.models import Run

FRONTEND = Path(settings.FRONTEND_DIR)


class Html:
    name = "html"
    label = "Report: one HTML file that opens anywhere"
    suffix = ".html"
    content_type = "text/html"

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        report = report_of(scope, progress)
        theme, loader, modules, style = (
            _text("site/theme.js"),
            _text("report/loader.js"),
            _modules(),
            _style(),
        )
        shortest = MINIMUM_SPAN_BINS * 2**report.level / 1e6
        is_finest = report.level <= finest_series(report.info)
        run = Run.objects.select_related("cluster").get(pk=scope.run) if scope.run else None
        context = {
            "title": title,
            "scope": scope,
            "card": drawn_card(run, scope) if run else None,
            "fired": fired_of(run, scope) if run else None,
            "tabs": tabs_of(scope.sections),
            "without_links": True,
            "made": datetime.now(UTC),
            "scripts": " ".join(map(_hash, (theme, loader, modules))),
            "styles": _hash(style),
            "style": style,
            "theme": theme,
            "loader": loader,
            "modules": _base64(gzip.compress(modules.encode(), 9, mtime=0)),
            "worker": _base64(gzip.compress(_worker().encode(), 9, mtime=0)),
            "entries": [(path, _base64(packed)) for path, packed in report.entries.items()],
            "shortest": None if report.has_all_spans else format_duration(shortest),
            "mean_of": None if is_finest else format_duration(2**report.level / 1e6),
            "has_notes": "/notes" in report.entries,
            "step": format_duration(report.step),
        }
        file.write(render_to_string("exchange/report.html", context).encode())
        progress(1.0)


@cache
def _modules() -> str:
    return bundle(FRONTEND / "pages" / "report" / "report.js", FRONTEND)


@cache
def _worker() -> str:
    """The worker that lays out graphs, which the page starts from its text."""
    return bundle(FRONTEND / "charts" / "graph" / "layout_worker.js", FRONTEND)


@cache
def _style() -> str:
    return bundle(FRONTEND / "styles" / "report.css", FRONTEND)


@cache
def _text(name: str) -> str:
    return (FRONTEND / "pages" / name).read_text()


def _hash(text: str) -> str:
    """A hash in the syntax of content security policies."""
    return f"'sha256-{_base64(hashlib.sha256(text.encode()).digest())}'"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
