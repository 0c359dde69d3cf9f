"""The interface of a kind of channel. The kinds are the modules of `channels`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import ClassVar

from observatory.alerts.notifying.message import Message


class ChannelKind(ABC):
    name: ClassVar[str]
    """as lists show it"""
    label: ClassVar[str]
    """as the form offers it"""
    examples: ClassVar[str]
    """addresses, for the form's help text"""
    limits_itself: ClassVar[bool] = False
    """the receiver limits its own notifications; a channel's messages per hour don't apply"""
    needs_refresh: ClassVar[bool] = False
    """the receiver forgets firing alerts that aren't sent again every minute"""

    @abstractmethod
    def clean_address(self, text: str) -> str:
        """Normalizes an address. Raises ValidationError, which says what is wrong."""

    @abstractmethod
    def host_of(self, address: str) -> str | None:
        """The host that messages are sent to; None for a service with servers of its own."""

    @abstractmethod
    def send(self, address: str, message: Message, at: datetime) -> None:
        """Sends a message at a time of our clock. Raises SendError."""
