"""A Python that the services' account can run, for tests under root whose own Python is in root's home."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from observatory.runtime.embedded.account import service_account
from tests.browser.observatory import ROOT

LEFT_OUT = shutil.ignore_patterns("test", "site-packages", "idlelib", "config-3*")


def can_read_observatory() -> bool:
    """Whether the account can read the checkout and its packages, of which no test makes a copy."""
    paths = (ROOT / "manage.py", Path(sysconfig.get_path("purelib"), "django"))
    return all(service_account().can("-r", path) for path in paths)


def runnable_python(folder: Path) -> tuple[str, dict[str, str]]:
    """An interpreter and variables of its environment. `folder` is for a copy, where one is needed."""
    if service_account().can("-x", Path(sys.executable)):
        return sys.executable, {}
    version = f"python{sysconfig.get_python_version()}"
    copy = folder / "bin" / version
    copy.parent.mkdir(parents=True)
    _link(os.path.realpath(sys.executable), copy)
    libraries = Path(sys.base_prefix) / "lib"
    shutil.copytree(libraries / version, folder / "lib" / version, ignore=LEFT_OUT, copy_function=_link)
    for library in libraries.glob("libpython*.so*"):
        _link(library, folder / "lib" / library.name)
    return str(copy), {
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "LD_LIBRARY_PATH": str(folder / "lib"),
    }


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another disk
        shutil.copy2(source, target)
