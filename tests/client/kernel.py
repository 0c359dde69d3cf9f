"""A real kernel, and what a front end would show of its cells."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from ipykernel.kernelspec import install as install_kernel
from jupyter_client.manager import KernelManager

Message = dict[str, Any]
LONGEST = 300.0
"""seconds that something may take on a loaded machine"""


@dataclass
class Cell:
    """A cell that was sent to the kernel."""

    id: str
    seconds: float | None = None
    """in which the kernel executed it; None: it isn't done"""
    status: str = ""
    error: str = ""
    outputs: list[Message] = field(default_factory=list)
    """as a saved notebook would have them: updated by messages that came later"""
    first_output: float | None = None
    """seconds from its begin to its first output"""


class Kernel:
    """Follows the kernel's messages as a front end does: outputs by their display ids, and widgets."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._begun: dict[str, float] = {}
        self.cells: dict[str, Cell] = {}
        self.widgets: dict[str, list[dict[str, Any]]] = {}
        """the states that were sent of each open widget, by its id, and of what is closed"""
        self.closed: set[str] = set()
        self._displays: dict[str, Message] = {}

    def start(self, code: str) -> Cell:
        """Sends a cell, and doesn't wait for it."""
        id = self._client.execute(code)
        self.cells[id] = Cell(id)
        return self.cells[id]

    def run(self, code: str) -> Cell:
        cell = self.start(code)
        self.until(lambda: cell.seconds is not None)
        return cell

    def until(self, condition: Callable[[], bool]) -> None:
        """Follows the kernel until `condition`. Raises TimeoutError."""
        deadline = time.monotonic() + LONGEST
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"cells: {self.cells}, widgets: {self.widgets}")
            try:
                self._take(self._client.get_iopub_msg(timeout=1))
            except Empty:
                continue

    def states(self, name: str) -> list[dict[str, Any]]:
        """What widgets were told of `name`."""
        return [state[name] for states in self.widgets.values() for state in states if name in state]

    def _take(self, message: Message) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind in ("comm_open", "comm_msg"):
            state = content["data"].get("state", {})
            self.widgets.setdefault(content["comm_id"], []).append(state)
        elif kind == "comm_close":
            self.closed.add(content["comm_id"])
        elif kind == "update_display_data":
            self._displays[content["transient"]["display_id"]].update(data=content["data"])
        cell = self.cells.get(message["parent_header"].get("msg_id", ""))
        if cell is not None:
            self._take_of_cell(cell, message)

    def _take_of_cell(self, cell: Cell, message: Message) -> None:
        kind, content = message["msg_type"], message["content"]
        time = message["header"]["date"].timestamp()
        if kind == "status" and content["execution_state"] == "busy":
            self._begun[cell.id] = time
        elif kind == "status" and content["execution_state"] == "idle":
            cell.seconds = time - self._begun[cell.id]
        elif kind in ("display_data", "execute_result", "stream"):
            if cell.first_output is None:
                cell.first_output = time - self._begun[cell.id]
            cell.outputs.append(content)
            if id := content.get("transient", {}).get("display_id"):
                self._displays[id] = content
        elif kind == "error":
            cell.error = content["ename"]


@contextmanager
def kernel(folder: Path, **variables: str) -> Iterator[Kernel]:
    """A kernel that runs this Python, in `folder`."""
    install_kernel(user=False, prefix=str(folder), kernel_name="observatory-tests")
    manager = KernelManager(kernel_name="observatory-tests")
    manager.kernel_spec_manager.kernel_dirs.insert(0, f"{folder}/share/jupyter/kernels")
    path = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": path, "IPYTHONDIR": f"{folder}/ipython", **variables}
    manager.start_kernel(env=environment, cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=LONGEST)
        yield Kernel(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
