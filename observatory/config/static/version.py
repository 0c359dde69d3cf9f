"""The version of the static files. It stands in STATIC_URL rather than in each file's name, so that native ES
modules go on importing each other by relative paths and nothing has to rewrite them."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

VERSION_FILE = "version.txt"
BUNDLER = Path(__file__).parent / "bundle.py"


def static_version(frontend: Path) -> str:
    """A short hash of all files below `frontend`, of what bundles them, and of packages with static files."""
    digest = hashlib.sha256(BUNDLER.read_bytes())
    for package in ("django", "django-unfold", "plotly"):
        digest.update(f"{package} {version(package)}\n".encode())
    for path in sorted(path for path in frontend.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(frontend)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def is_collected(static_root: Path, wanted: str) -> bool:
    """True when `collectstatic` finished for the version `wanted`."""
    try:
        return (static_root / VERSION_FILE).read_text() == wanted
    except OSError:
        return False
