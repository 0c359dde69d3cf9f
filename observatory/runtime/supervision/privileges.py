"""Gives up root's privileges: `up` and all that it starts run as the account of the data folder."""

from __future__ import annotations

import compileall
import ctypes
import os
import subprocess
import sys
from pathlib import Path

from observatory.base.environment import PACKAGE_DIR
from observatory.runtime.embedded.account import NAME, Account
from observatory.runtime.embedded.data_folder import HOME, DataFolder
from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.subprocesses import libc, python_environment

FOLDERS = (
    *("TMPDIR", "TEMP", "TMP"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
    *("MPLCONFIGDIR", "NUMBA_CACHE_DIR", "PYTHONPYCACHEPREFIX"),
)
"""variables with folders that programs write to; without them they use HOME and /tmp"""

UNPRIVILEGED_PORTS = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
CAP_NET_BIND_SERVICE = 10
CAPABILITY_VERSION_3 = 0x20080522
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2


def obstacle(folder: DataFolder) -> str:
    """Why the account cannot run Observatory, such as a checkout in root's home; "" if it can."""
    account = folder.account
    if not account.can("-w", folder.path):
        return f"it cannot reach the data folder {folder.path}"
    command = [sys.executable, "-P", "-c", "import observatory.config.settings"]
    environment = {**python_environment(), "OBSERVATORY_DATA_DIR": str(folder.path)}
    try:
        done = subprocess.run(
            command,
            cwd=folder.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            **account.process_options(),
        )
    except OSError as error:
        return f"it cannot run {sys.executable}: {error.strerror}"
    if not done.returncode:
        return ""
    lines = done.stderr.strip().splitlines()
    return f"it cannot import Observatory: {lines[-1] if lines else 'no reason given'}"


def give_up_root(folder: DataFolder, port: int) -> None:
    """Become the account of `folder`, for good. What listens on `port` may do so even if it is root's."""
    if not sys.dont_write_bytecode:
        # the account cannot write there: each of its processes would compile the modules again
        compileall.compile_dir(PACKAGE_DIR, quiet=2)
    home = folder.private(folder.path / HOME)
    folder.give_to_account()
    keep_port = port < _first_unprivileged_port()
    if keep_port:
        _check(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    _become(folder.account)
    if keep_port:
        _keep_only(CAP_NET_BIND_SERVICE)
    os.chdir(home)
    _use_environment(folder, home)


def _first_unprivileged_port() -> int:
    try:
        return int(UNPRIVILEGED_PORTS.read_text())
    except OSError:  # a kernel without this setting
        return 1024


def _become(account: Account) -> None:
    os.setgroups([])
    os.setgid(account.gid)
    os.setuid(account.uid)


def _keep_only(capability: int) -> None:
    """Reduce this process and its children to one capability (capabilities(7))."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    mask = 1 << capability
    # effective, permitted, inheritable: of capabilities 0-31, then of 32-63
    _check(libc.capset(header, (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)))
    _check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0))


def _use_environment(folder: DataFolder, home: Path) -> None:
    """Replace root's folders in the environment by the account's."""
    os.environ.update(
        {"HOME": str(home), "USER": NAME, "LOGNAME": NAME, "OBSERVATORY_DATA_DIR": str(folder.path)}
    )
    for name in FOLDERS:
        if name in os.environ and not os.access(os.environ[name], os.W_OK | os.X_OK):
            del os.environ[name]


def _check(result: int) -> None:
    if result:
        reason = os.strerror(ctypes.get_errno())
        raise StartupError(
            f"the user {NAME} cannot get the right to listen on a port of root ({reason}): "
            "choose one from 1024 with --port"
        )
