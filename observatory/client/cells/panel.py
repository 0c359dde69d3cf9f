"""The output of an observed cell: the live panel, then what replaces it and stays in the saved notebook."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import traitlets
from IPython.display import display

from observatory.client.shown import Bundle

log = logging.getLogger("observatory")

FOLDER = Path(__file__).parent
VIEW = "application/vnd.jupyter.widget-view+json"


class Panel(anywidget.AnyWidget):
    """Draws `state`, which is plain data; panel.js says what it has. It sends nothing to the kernel."""

    _esm = (FOLDER / "panel.js").read_text()
    _css = (FOLDER / "panel.css").read_text()
    state = traitlets.Dict().tag(sync=True)


class CellOutput:
    """One output below a cell. All methods can be called in any thread, and none raises."""

    def __init__(self) -> None:
        self._id = uuid4().hex
        self._panel: Panel | None = None

    def show(self, state: dict[str, Any], instead: Bundle) -> None:
        """Shows the panel; `instead` is for what shows no widgets, and for the saved notebook."""
        try:
            self._panel = Panel(state=state)
            display(self._with_panel(instead), raw=True, display_id=self._id)  # type: ignore[no-untyped-call]
        except Exception:
            log.debug("the panel can't be shown", exc_info=True)

    def update(self, **state: Any) -> None:
        try:
            if self._panel is not None:
                self._panel.state = {**self._panel.state, **state}
        except Exception:
            log.debug("the panel can't be updated", exc_info=True)

    def keep(self, instead: Bundle) -> None:
        """The panel stays; `instead` is what the saved notebook has of it."""
        self._display(self._with_panel(instead))

    def replace(self, bundle: Bundle) -> None:
        """Shows `bundle` in place of the panel, which ends."""
        self._display(bundle)
        panel, self._panel = self._panel, None
        try:
            if panel is not None:
                panel.layout.close()
                panel.close()
        except Exception:
            log.debug("the panel can't be closed", exc_info=True)

    def _display(self, bundle: dict[str, Any]) -> None:
        try:
            display(bundle, raw=True, display_id=self._id, update=True)  # type: ignore[no-untyped-call]
        except Exception:
            log.debug("the output can't be shown", exc_info=True)

    def _with_panel(self, instead: Bundle) -> dict[str, Any]:
        if self._panel is None:
            return dict(instead)
        view = {"version_major": 2, "version_minor": 0, "model_id": self._panel.model_id}
        return {VIEW: view, **instead}
