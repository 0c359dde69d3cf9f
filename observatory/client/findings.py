"""The findings of a run as a DataFrame that shows itself."""

from __future__ import annotations

from typing import Any

import pandas as pd

from observatory.client.connection import ObservatoryError
from observatory.client.shown import Bundle, Output


class Findings(pd.DataFrame):  # type: ignore[misc]
    """The findings of a run, a row each. What is selected from them is a plain DataFrame."""

    _metadata = ["_output"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        try:
            shown = self._output.read()
        except ObservatoryError:
            return {"text/html": pd.DataFrame(self).to_html(), "text/plain": repr(self)}
        return {"text/html": shown["html"], "text/plain": shown["text"]}

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]


def findings_frame(rows: list[dict[str, Any]], columns: tuple[str, ...], output: Output) -> Findings:
    found = Findings(rows, columns=None if rows else columns)
    found._output = output
    return found
