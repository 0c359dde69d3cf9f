"""Calls Django's ORM from asyncio."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")


async def run_in_django_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Calls function(…) in Django's thread, one call at a time, then returns its connection to the pool.

    Raises django.db.Error.
    """
    return await sync_to_async(_and_return_connection(function))(*args, **kwargs)


def _and_return_connection(function: Callable[P, R]) -> Callable[P, R]:
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return call
