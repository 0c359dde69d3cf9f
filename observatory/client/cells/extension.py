"""What `%load_ext observatory` adds to IPython: `%%observe [name]`.

The magic's line opens the run and the end of the cell closes it, so that the cell's code runs as any other:
with its last value shown, `await`, errors and line numbers.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any
from weakref import WeakKeyDictionary

from distributed import Client
from IPython.core.error import UsageError
from IPython.core.inputtransformer2 import cell_magic

from observatory.client.cells.observed_cell import ObservedCell
from observatory.client.cells.panel import CellOutput
from observatory.wire.client_code.runs import NOT_RECORDED, clean_code

log = logging.getLogger("observatory")

MAGIC = "observe"
FIRST_LINE = re.compile(rf"%%{MAGIC}(\s|$)")
ARGUMENTS = re.compile(r"(?:--client[ =](?P<client>[^\W\d]\w*)(?:\s+|$))?(?P<name>.*)", re.DOTALL)
NOTEBOOK = "JPY_SESSION_NAME"
"""environment variable of kernels with the path of their notebook"""

OpenRun = Callable[..., Any]
"""`observatory.run`"""


class Extension:
    """The magic in one shell."""

    def __init__(self, shell: Any, open_run: OpenRun) -> None:
        self._shell = shell
        self._open_run = open_run
        self._depth = 0
        """of cells that run: code of a cell can run another one"""
        self._cells: list[tuple[int, ObservedCell]] = []
        """those that run, with their depth"""

    def load(self) -> None:
        self._shell.register_magic_function(self.observe, "line_cell", MAGIC)
        self._shell.input_transformers_cleanup.append(as_line)
        for event, function in self._events:
            self._shell.events.register(event, function)
        self._open_run(MAGIC)  # what a run tells of its process takes a while to find, once

    def unload(self) -> None:
        self._shell.input_transformers_cleanup.remove(as_line)
        for event, function in self._events:
            self._shell.events.unregister(event, function)

    def observe(self, line: str, cell: str | None = None) -> None:
        """Records this cell as a run of Dask Observatory, and shows below it what the cluster does.

            %%observe [--client VARIABLE] [NAME]

        Without a name the run is named after the notebook. The default client is Dask's current one.
        """
        client, name = self._client_and_name(line)
        try:
            code = clean_code(self._shell.history_manager.input_hist_raw[-1])
            observed = ObservedCell(self._run(name, client, code), client, CellOutput())
            self._cells.append((self._depth, observed))
            observed.begin()
        except Exception:  # the cell runs in any case
            log.warning("%%observe shows nothing", exc_info=True)
        if cell is not None:
            self._shell.run_cell(cell).raise_error()

    @property
    def _events(self) -> list[tuple[str, Callable[..., None]]]:
        return [("pre_run_cell", self._cell_begins), ("post_run_cell", self._cell_ends)]

    def _cell_begins(self, info: Any = None) -> None:
        self._depth += 1

    def _cell_ends(self, result: Any = None) -> None:
        """`result`: None for a cell that was interrupted in `await`."""
        error = KeyboardInterrupt() if result is None else result.error_before_exec or result.error_in_exec
        while self._cells and self._cells[-1][0] >= self._depth:
            try:
                self._cells.pop()[1].end(error)
            except Exception:  # the next cell runs in any case
                log.warning("%%observe can't show the run", exc_info=True)
        self._depth = max(self._depth - 1, 0)

    def _client_and_name(self, line: str) -> tuple[Client | None, str]:
        """The current client where the line names none; None: there is none. Raises UsageError."""
        found = ARGUMENTS.fullmatch(line.strip())
        variable, name = (found["client"], found["name"]) if found else (None, "")
        if variable is None:
            try:
                return Client.current(), name
            except ValueError:
                return None, name
        client = self._shell.user_ns.get(variable)
        if not isinstance(client, Client):
            raise UsageError(f"%%{MAGIC}: {variable} is not a Dask client")
        return client, name

    def _run(self, name: str, client: Client | None, code: str) -> Any:
        run = self._open_run(name.strip("\"' ") or notebook_name(), client=client)
        run.description["code"] = code
        run.warn = _log  # the output says it
        return run


def _log(reason: str, what: str = NOT_RECORDED) -> None:
    log.debug("this run %s: %s", what, reason)


def as_line(lines: list[str]) -> list[str]:
    """`%%observe` as a line of the cell; the rest may begin with another cell magic."""
    if not lines or not FIRST_LINE.match(lines[0]):
        return lines
    rest = cell_magic(as_line(lines[1:]))  # type: ignore[no-untyped-call]
    name = lines[0].partition(MAGIC)[2].strip()
    # written out: a name can end with a question mark, or with a backslash
    return [f"get_ipython().run_line_magic({MAGIC!r}, {name!r})\n", *rest]


def notebook_name() -> str:
    return PurePath(os.environ.get(NOTEBOOK, "")).stem or "notebook"


_loaded: WeakKeyDictionary[Any, Extension] = WeakKeyDictionary()
"""by shell"""


def load(shell: Any, open_run: OpenRun) -> None:
    if shell not in _loaded:
        _loaded[shell] = Extension(shell, open_run)
        _loaded[shell].load()


def unload(shell: Any) -> None:
    if shell in _loaded:
        _loaded.pop(shell).unload()
