"""The interface of a kind of discovery. The kinds are the modules of `kinds`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import TypeAdapter, ValidationError

from observatory.collect.credentials.credentials import Credentials
from observatory.collect.http.fetch import HttpClient

MOST_FOUND = 1_000
"""Most clusters of one discovery that are observed."""
LIST_LIMIT = 16 * 2**20
"""Most bytes of an answer."""
LIST_TIMEOUT = 10.0
"""Seconds for one request."""

T = TypeVar("T")


class DiscoveryError(Exception):
    """A list that cannot be had; the message is one line, shown to users."""


@dataclass(frozen=True, slots=True)
class Found:
    """A cluster in a list. Its address and name have not been checked."""

    url: str
    name: str
    problem: str = ""
    """Why it has no address."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a kind needs to ask for a list."""

    address: str
    namespace: str
    credentials: Credentials
    client: HttpClient
    """Sends no credentials yet."""


class DiscoveryKind(ABC):
    label: ClassVar[str]
    """as the form offers it"""
    examples: ClassVar[str]
    """addresses, for the form's help text"""
    may_share_credentials: ClassVar[bool] = True
    """whether found targets may get the credentials"""
    has_namespaces: ClassVar[bool] = False

    @abstractmethod
    def clean_address(self, text: str) -> str:
        """Normalizes an address. Raises ValidationError, which says what is wrong."""

    @abstractmethod
    async def find(self, question: Question) -> list[Found]:
        """The listed clusters, at most some more than MOST_FOUND. Raises DiscoveryError and FetchError."""

    @abstractmethod
    def is_on_this_machine(self, address: str) -> bool:
        """Whether the list is one of this machine, and so may name it as 127.0.0.1. Blocks."""

    def why_superuser(self, address: str) -> str:
        """Why only superusers may set such a discovery: it uses what belongs to the server. "": all may."""
        return ""


def checked(adapter: TypeAdapter[T], document: Any, what: str) -> T:
    """A document as the types of the adapter. Raises DiscoveryError, which says where it is not `what`."""
    try:
        return adapter.validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:60] for part in first["loc"])
        raise DiscoveryError(f"its answer is not {what}: {place or 'all of it'}: {first['msg']}") from None
