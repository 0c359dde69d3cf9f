"""The interface of a kind of receiver of runs. The kinds are the modules of `kinds`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import psycopg

from observatory.exchange.receivers.progress import Progress
from observatory.runs.models import Run


class NotYet(Exception):
    """The run can't be sent yet: what is sent of it is still being made."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a receiver is, with its secrets."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """added to each request"""


@dataclass(frozen=True, slots=True)
class Options:
    """What a receiver gets of a run."""

    most_tasks: int = 10_000
    logs: bool = True
    metrics: bool = True
    arguments: bool = False


class ReceiverKind(ABC):
    examples: ClassVar[str]
    """addresses, for the form's help text"""

    @abstractmethod
    def clean_address(self, text: str) -> str:
        """Normalizes an address. Raises ValidationError, which says what is wrong."""

    @abstractmethod
    def host_of(self, url: str) -> str | None:
        """The host that is sent to."""

    @abstractmethod
    def send(
        self, connection: psycopg.Connection, run: Run, address: Address, options: Options, progress: Progress
    ) -> str:
        """Sends a run that has ended; returns what was sent, in a sentence.

        `progress`: what the receiver has of it, which grows with each request that it accepts.
        `run` has its cluster and project. Raises SendError, NotYet, and psycopg.Error without a database.
        """

    @abstractmethod
    def send_test(self, address: Address) -> None:
        """Raises SendError."""
