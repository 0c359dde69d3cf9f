"""Names of clusters that the configuration does not name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MADE_UP = re.compile(r"[0-9a-f]{8}")
"""A name that Dask made up: the start of a UUID."""
MANAGER = "cluster-manager-info"
"""Key of the scheduler's metadata under which a cluster manager, such as LocalCluster, describes itself."""
NOTEBOOK = "JPY_SESSION_NAME"
"""Variable of the environment in which Jupyter names the notebook of a kernel."""


def manager_name(scheduler: Any) -> str:
    """The name that the scheduler's cluster manager was given, known after the start; "" without one."""
    info = scheduler.task_metadata.get(MANAGER)
    name = info.get("name") if isinstance(info, Mapping) else None
    return name if isinstance(name, str) and not MADE_UP.fullmatch(name) else ""


def program_name() -> str:
    """The file name of this process's notebook or script; "" in a shell."""
    if notebook := os.environ.get(NOTEBOOK):
        return Path(notebook).name
    script = Path(sys.argv[0] if sys.argv else "").name
    is_launcher = script.startswith("__") or script == "ipykernel_launcher.py"
    return script if script.endswith(".py") and not is_launcher else ""
