"""Which addresses notifications may be sent to: not to services of this machine, unless a setting says so."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.conf import settings

from observatory.alerts.notifying.errors import SendError
from observatory.clusters.addresses.ip_addresses import IPAddress, is_metadata, is_reserved, parse_ip

REFUSED = (
    "Its host is this machine, a link-local address or a cloud's metadata service. The setting "
    "OBSERVATORY_LOCAL_CHANNELS allows the first two."
)

_known: ContextVar[dict[str, list[IPAddress]] | None] = ContextVar("addresses of hosts", default=None)


def is_allowed(address: IPAddress) -> bool:
    return not is_metadata(address) and (settings.LOCAL_CHANNELS or not is_reserved(address))


def guarded_socket(info: tuple[Any, ...]) -> socket.socket:
    """A socket for an entry of getaddrinfo. Raises SendError for an address that isn't allowed.

    The address is the one that is connected to, so a name that changes its address gains nothing.
    """
    family, type, protocol, _, address = info
    if not is_allowed(parse_ip(str(address[0]))):
        raise SendError(REFUSED)
    return socket.socket(family, type, protocol)


def check_host(host: str) -> None:
    """Raises SendError if the host has an address that isn't allowed."""
    known = _known.get()
    found = None if known is None else known.get(host)
    if found is None:
        found = _addresses(host)
    if known is not None:
        known[host] = found
    if not all(map(is_allowed, found)):
        raise SendError(REFUSED)


@contextmanager
def looking_up_once() -> Iterator[None]:
    """Meanwhile check_host looks each host up once: of many channels most have the same."""
    mark = _known.set({})
    try:
        yield
    finally:
        _known.reset(mark)


def _addresses(host: str) -> list[IPAddress]:
    """None for an unknown host: sending says why."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [parse_ip(str(entry[4][0])) for entry in found]
