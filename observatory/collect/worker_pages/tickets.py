"""Tickets: they are in the path of each relayed request, in place of a cookie.

The pages of a worker run in a sandbox without an origin, so a browser sends no cookies with their requests. A
ticket names the session of the person who opened them and one worker. The worker's scripts can read it: it is
encrypted, because it has the session's key.
"""

from __future__ import annotations

import json
import time
from dataclasses import astuple, dataclass

from observatory.clusters.encryption import Cipher, KeyLostError

LIFETIME = 3600
"""seconds in which pages can be opened with it; an open page stays longer, while the person has access"""
LONGEST = 1000

_cipher = Cipher(b"observatory: tickets of worker pages")


class TicketError(ValueError):
    """A ticket that is not valid any more, or never was. The message is shown to people."""

    def __init__(self) -> None:
        super().__init__("This address is not valid any more: reload the page around this frame.")


@dataclass(frozen=True, slots=True)
class Ticket:
    session: str
    """its key"""
    cluster: int
    worker: int
    way: int
    """which of the worker's possible addresses answered"""
    expires: int
    """seconds since the epoch"""


def make_ticket(session: str, cluster: int, worker: int, way: int) -> str:
    """A ticket of ASCII letters, digits, - and _."""
    ticket = Ticket(session, cluster, worker, way, int(time.time()) + LIFETIME)
    return _cipher.encrypt(json.dumps(astuple(ticket))).rstrip("=")


def read_ticket(text: str) -> Ticket:
    """Raises TicketError."""
    if not text or len(text) > LONGEST:
        raise TicketError
    try:
        ticket = Ticket(*json.loads(_cipher.decrypt(text + "=" * (-len(text) % 4))))
    except KeyLostError:
        raise TicketError from None
    if ticket.expires <= time.time():
        raise TicketError
    return ticket
