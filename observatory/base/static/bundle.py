"""Bundles a page's ES modules, or its style sheets, into one file: each request takes a browser some time.

No build step stands between the sources and the page: this writes each module as a function that is called
once and gives what the module exports, in the order of their imports. It knows the one form in which ours
import and export names, and refuses any other. A style sheet has each that it imports in place of the import.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

BUNDLED = (
    "frontend/pages/cluster/cluster.js",
    "frontend/pages/comparison/compare.js",
    "frontend/pages/comparison/compare_workers.js",
    "frontend/pages/rule/rule.js",
    "frontend/pages/site/header.js",
    "frontend/styles/site.css",
    "frontend/styles/timeline.css",
)
"""modules and style sheets that are bundled with all that they import"""
IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"(\.[^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
STYLE_IMPORT = re.compile(r'^@import "([^"]+)";\n', re.MULTILINE)
LEFT_OVER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


MEDIA_TYPES = {".js": "application/javascript", ".css": "text/css"}


class BundleError(Exception):
    """A file that can't be bundled; the message says which and why."""


def bundle_of(entry: str) -> str:
    """The static path of the bundle of a module or style sheet."""
    path = PurePosixPath(entry)
    return str(path.with_suffix(f".bundle{path.suffix}"))


def bundle(entry: Path, root: Path) -> str:
    """One file that does what the module or style sheet `entry` and all that it imports, below `root`, do.

    Raises BundleError.
    """
    entry, root = entry.resolve(), root.resolve()
    if entry.suffix == ".css":
        return _style_sheet(entry)
    return "\n".join(_module(path, entry, root) for path in _in_order(entry, (), []))


def minified(content: str, path: str) -> str:
    """The same module or style sheet with less text: browsers load and parse it in less time."""
    # a library with a runtime and threads of its own, which only the process of collectstatic needs
    import minify

    short: str = minify.string(MEDIA_TYPES[PurePosixPath(path).suffix], content)
    return short


def _style_sheet(path: Path) -> str:
    text = STYLE_IMPORT.sub(lambda found: _style_sheet(path.parent / found[1]), path.read_text())
    for unknown in ("@import", "url("):
        if unknown in text:
            raise BundleError(f"{path} has {unknown!r}: in a bundle, it would be relative to another folder")
    return text


def _in_order(path: Path, importers: tuple[Path, ...], found: list[Path]) -> list[Path]:
    """Each module after those that it imports."""
    if path in importers:
        raise BundleError(f"{path} imports itself, by {importers[-1]}")
    for _, reference in IMPORT.findall(path.read_text()):
        imported = (path.parent / reference).resolve()
        if imported not in found:
            _in_order(imported, (*importers, path), found)
    found.append(path)
    return found


def _module(path: Path, entry: Path, root: Path) -> str:
    exported: list[str] = []

    def imports(found: re.Match[str]) -> str:
        if found[1] is None:
            return ""
        names = found[1].replace(" as ", ": ").strip(" ,\n")
        return f"const {{ {names} }} = {_name((path.parent / found[2]).resolve(), root)};\n"

    def exports(found: re.Match[str]) -> str:
        exported.append(found[2])
        return found[1]

    source = EXPORT.sub(exports, IMPORT.sub(imports, path.read_text()))
    left_over = LEFT_OVER.search(source)
    if left_over:
        raise BundleError(f"{path} has {left_over[0]!r}: only names are imported and exported")
    here = Path(os.path.relpath(path, entry.parent)).as_posix()
    source = source.replace("import.meta.url", f'new URL("{here}", import.meta.url).href')
    return f"const {_name(path, root)} = (() => {{\n{source}return {{ {', '.join(exported)} }};\n}})();"


def _name(path: Path, root: Path) -> str:
    return "$" + re.sub(r"\W", "_", path.relative_to(root).with_suffix("").as_posix())
