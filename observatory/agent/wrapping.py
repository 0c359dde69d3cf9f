"""Wraps functions of clients, of Dask and of threads as long as something is recorded of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Wrapping:
    """A function of an object or a module that is wrapped."""

    def __init__(self, owner: Any, name: str, wrap: Callable[[Any], Callable[..., Any]]) -> None:
        """`wrap` makes the wrapper of the function. Raises AttributeError where the owner has none."""
        self.owner, self.name = owner, name
        self._original = getattr(owner, name)
        self._is_own = name in vars(owner)
        self._wrapper = wrap(self._original)
        setattr(owner, name, self._wrapper)

    def unwrap(self) -> None:
        if vars(self.owner).get(self.name) is not self._wrapper:
            return  # somebody wrapped it again: the wrapper stays, and does nothing
        if self._is_own:
            setattr(self.owner, self.name, self._original)
        else:
            delattr(self.owner, self.name)
