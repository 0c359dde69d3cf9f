"""What notebooks show of an Observatory's objects. The server writes it (GET …/notebook)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from observatory.client.connection import Connection, ObservatoryError
from observatory.wire.records import printable

Bundle = dict[str, str]
"""the output of a cell, by media type"""


@dataclass(frozen=True)
class Output:
    """What the server shows at a path of its API."""

    connection: Connection
    path: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> dict[str, Any]:
        """`html`, `text`, `url`, `is_final`. Raises ObservatoryError."""
        found: dict[str, Any] = self.connection.json(self.path, **self.parameters)
        return found

    def bundle(self, instead: str) -> Bundle:
        """`instead` is shown with the reason where the server doesn't answer."""
        try:
            output = self.read()
        except ObservatoryError as error:
            return plain_bundle(f"{instead} ({error})")
        return {"text/html": output["html"], "text/plain": output["text"]}


def plain_bundle(text: str) -> Bundle:
    return {"text/html": f"<div>{escape(text)}</div>", "text/plain": printable(text)}


class Shown(dict[str, Any]):
    """An answer of the API, as a dictionary that shows itself."""

    def __init__(self, fields: Mapping[str, Any], connection: Connection) -> None:
        super().__init__(fields)
        self._connection = connection

    @property
    def url(self) -> str:
        """The address of its page."""
        raise NotImplementedError

    @property
    def output(self) -> Output:
        raise NotImplementedError

    @property
    def title(self) -> str:
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return self.output.bundle(f"{self.title}: {self.url}")

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """IPython would print it as the dictionary that it is."""
        printer.text(self._repr_mimebundle_()["text/plain"])


class Cluster(Shown):
    """A cluster. Its fields are those of GET /api/v1/clusters/{id}."""

    @property
    def url(self) -> str:
        return f"{self._connection.url}/clusters/{self['id']}/"

    @property
    def output(self) -> Output:
        return Output(self._connection, f"/clusters/{self['id']}/notebook")

    @property
    def title(self) -> str:
        return f"Cluster “{self['name']}”"
