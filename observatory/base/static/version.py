"""The version of the static files.

It is part of STATIC_URL, not of each file's name, so that ES modules can import each other by relative paths.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

VERSION_FILE = "version.txt"
BUNDLER = Path(__file__).parent / "bundle.py"


def static_version(frontend: Path) -> str:
    """A short hash of all files below `frontend`, of the bundler, and of the packages behind static files."""
    digest = hashlib.sha256(BUNDLER.read_bytes())
    for package in ("django", "django-unfold", "plotly", "tdewolff-minify"):
        digest.update(f"{package} {version(package)}\n".encode())
    for path in sorted(path for path in frontend.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(frontend)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def is_collected(static_root: Path, wanted: str) -> bool:
    """Whether `collectstatic` has finished for the version `wanted`."""
    try:
        return (static_root / VERSION_FILE).read_text() == wanted
    except OSError:
        return False
