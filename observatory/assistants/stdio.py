"""The command `mcp`: serves the tools on standard input and output to the assistant that starts it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

import click

from observatory.assistants.rest_api import ApiError
from observatory.client.connection import TOKEN, URL, Connection, ObservatoryError

PACKAGE = "dask-observatory[mcp]"


class ConnectedApi:
    """A server that is reached by its URL."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = Connection(url, token)
        self.url = self._connection.url

    async def get(self, path: str, parameters: Mapping[str, Any]) -> bytes:
        try:
            return await asyncio.to_thread(self._connection.get, path, parameters)
        except ObservatoryError as error:
            raise ApiError(str(error)) from None


@click.command("mcp")
@click.option(
    "--url",
    envvar=URL,
    default="http://127.0.0.1:8000",
    show_default=True,
    help=f"of the Observatory; or the variable {URL}",
)
@click.option("--token", envvar=TOKEN, help=f"an access token; or the variable {TOKEN}")
def serve(url: str, token: str | None) -> None:
    """Serves an assistant what an Observatory recorded (Model Context Protocol)."""
    if not token:
        sys.exit(f"Error: {TOKEN} has no access token. One is made in the user menu: Access tokens.")
    try:
        api = ConnectedApi(url, token)
    except ValueError as error:
        sys.exit(f"Error: {error}")
    try:
        from mcp.server.stdio import stdio_server

        from observatory.assistants.server import make_server
    except ModuleNotFoundError as error:
        sys.exit(f"Error: {error.name} is not installed: pip install '{PACKAGE}'")
    server = make_server(lambda _: api)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asyncio.run(run())
