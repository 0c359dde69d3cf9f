"""Static files: Plotly from its wheel, and storage for `collectstatic`: bundles, smaller and compressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import brotli
from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedStaticFilesStorage

from observatory.base.static.bundle import BUNDLED, bundle, bundle_of, minified
from observatory.base.static.version import VERSION_FILE

PLOTLY = "plotly.min.js"
QUALITY = 7
"""of Brotli: Plotly takes 1 s and has 1.25 MB; at the highest, 11, it takes 17 s and has 1.11 MB"""


class QuickCompressor(Compressor):  # type: ignore[misc]
    """Compresses all files in the first seconds of a first start, which people wait for."""

    @staticmethod
    def compress_brotli(data: bytes) -> bytes:
        compressed: bytes = brotli.compress(data, quality=QUALITY)
        return compressed


class CompressedStorage(CompressedStaticFilesStorage):  # type: ignore[misc]
    """Bundles, minifies and compresses changed files, and writes the version when all are complete."""

    def create_compressor(self, **options: Any) -> Compressor:
        return QuickCompressor(**options)

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        bundles = (
            {} if dry_run else {self._bundle(entry): (self, entry) for entry in BUNDLED if entry in paths}
        )
        changed = {path: source for path, source in (paths | bundles).items() if self._is_changed(path)}
        yield from super().post_process(changed, dry_run, **options)
        if not dry_run:
            Path(self.path(VERSION_FILE)).write_text(settings.STATIC_VERSION)

    def _bundle(self, entry: str) -> str:
        path = bundle_of(entry)
        content = minified(bundle(Path(self.path(entry)), Path(self.path(""))), path)
        file = Path(self.path(path))
        if not file.exists() or file.read_text() != content:
            file.write_text(content)
        return path

    def _is_changed(self, path: str) -> bool:
        source, compressed = Path(self.path(path)), Path(self.path(f"{path}.gz"))
        return not compressed.exists() or compressed.stat().st_mtime < source.stat().st_mtime


class PlotlyFinder(BaseFinder):
    """Finds plotly.min.js in the `plotly` wheel as vendor/plotly.min.js, and nothing else of that wheel."""

    def __init__(self, *_: Any, **__: Any) -> None:
        [folder] = find_spec("plotly").submodule_search_locations  # type: ignore[union-attr,misc]
        self.storage = FileSystemStorage(location=Path(folder) / "package_data")
        self.storage.prefix = "vendor"  # type: ignore[attr-defined]  # collectstatic and whitenoise read it

    def check(self, **_: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:
        found = [self.storage.path(PLOTLY)] if path == f"vendor/{PLOTLY}" else []
        return found[0] if found and not find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        yield PLOTLY, self.storage
