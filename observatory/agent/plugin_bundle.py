"""Pickles a plugin together with its source, so that it loads where this package is not installed."""

from __future__ import annotations

import io
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import cloudpickle

PACKAGES = ("observatory.agent", "observatory.wire")

_registering = threading.Lock()


def pack(module: str, name: str, settings: Mapping[str, Any]) -> bytes:
    """Pickles a call of `module.name(settings)` that also works where the package is not installed."""
    with _registering:
        ourselves = sys.modules[__name__]
        cloudpickle.register_pickle_by_value(ourselves)
        try:
            pickled: bytes = cloudpickle.dumps(
                _PluginBundle(archive(), module, name, dict(settings)), protocol=4
            )
        finally:
            cloudpickle.unregister_pickle_by_value(ourselves)
    return pickled


class _PluginBundle:
    """An object whose pickle is a call of `unpack`."""

    def __init__(self, *contents: Any) -> None:
        self.contents = contents

    def __reduce__(self) -> tuple[Any, ...]:
        return unpack, self.contents


def unpack(archive: bytes, module: str, name: str, settings: dict[str, Any]) -> Any:
    """Creates the plugin from the installed package, else from the source in `archive`, a zip file.

    This function is pickled by value, so it may use nothing else from this module.
    """
    import atexit
    import importlib
    import os
    import shutil
    import sys
    import tempfile

    try:
        found = importlib.import_module(module)
    except ImportError:
        folder = tempfile.mkdtemp(prefix="observatory-agent-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "observatory-agent.zip")
        with open(path, "wb") as file:
            file.write(archive)
        importlib.invalidate_caches()
        namesake = sys.modules.get("observatory")
        if namesake is None:
            sys.path.append(path)
        else:
            # another package named observatory is installed: extend it with ours
            namesake.__path__.append(os.path.join(path, "observatory"))
        found = importlib.import_module(module)
    return getattr(found, name)(settings)


def archive() -> bytes:
    """A zip file with the source of PACKAGES."""
    from observatory import __version__

    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("observatory/__init__.py", f"__version__ = {__version__!r}\n")
        for path, source in _sources():
            file.writestr(path, source)
    return written.getvalue()


def _sources() -> Iterator[tuple[str, str]]:
    """(path in the zip file, source) of each module."""
    import importlib
    import pkgutil

    for package in PACKAGES:
        module = importlib.import_module(package)
        yield f"{package.replace('.', '/')}/__init__.py", _source(package)
        for found in pkgutil.walk_packages(module.__path__, f"{package}."):
            path = found.name.replace(".", "/")
            yield f"{path}/__init__.py" if found.ispkg else f"{path}.py", _source(found.name)


def _source(name: str) -> str:
    import importlib.util

    spec = importlib.util.find_spec(name)
    loader: Any = None if spec is None else spec.loader
    if hasattr(loader, "get_source"):
        source = loader.get_source(name)
    else:  # that of pytest, which compiles the modules of its plugins' packages itself
        data = Path(spec.origin).read_bytes() if spec is not None and spec.origin else None
        source = None if data is None else importlib.util.decode_source(data)
    if source is None:
        raise ImportError(f"the source of {name} was not found")
    return str(source)
