"""Builds the URLs of a target and its workers, and checks which addresses may be requested (SSRF).

A scheduler names its workers' hosts and is not trusted: it could name a machine that only we can reach.
Therefore a worker's host is requested for `/metrics` and Dask's pages (worker_pages/) only, without
redirects, and never at a loopback, link-local or multicast address unless the target itself runs on this
machine.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from django.core.exceptions import ValidationError

from observatory.clusters.addresses.http_addresses import clean_target_url
from observatory.clusters.addresses.ip_addresses import IPAddress, is_reserved, parse_ip

MOST_REMEMBERED = 20_000
"""URLs of workers, which are asked for at each scrape."""
HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?"
)


class AddressError(ValueError):
    """An address that must not be requested; the message says why."""


def target_url(text: str) -> str:
    """The address of a target in normal form, without a trailing slash. Raises AddressError."""
    try:
        return clean_target_url(text)
    except ValidationError as error:
        raise AddressError(" ".join(error.messages)) from None


def stream_url(target: str) -> str:
    """The WebSocket address of a target's event stream: ws:// for http://, wss:// for https://."""
    parts = urlsplit(target)
    scheme = {"http": "ws", "https": "wss"}[parts.scheme]
    return urlunsplit((scheme, parts.netloc, f"{parts.path}/eventstream", "", ""))


@lru_cache(maxsize=MOST_REMEMBERED)
def worker_url(target: str, host: str, port: int, is_local: bool, prefix: str = "", scheme: str = "") -> str:
    """The address of a worker, below `prefix`; without a scheme with that of the target.

    `is_local`: the target runs on this machine. Raises AddressError for an invalid host or port, and for an
    address that the scheduler must not name.
    """
    address = _worker_address(host, port)
    if address is not None and is_reserved(address) and not (is_local and address.is_loopback):
        raise AddressError(f"the worker's host {host[:60]!r} is not an address of another machine")
    name = f"[{address}]" if isinstance(address, ipaddress.IPv6Address) else host
    return f"{scheme or urlsplit(target).scheme}://{name}:{port}{prefix}"


def proxied_worker_url(target: str, host: str, port: int, prefix: str = "") -> str:
    """The address of a worker at the scheduler, which passes requests on to its workers alone.

    Raises AddressError for an invalid host or port.
    """
    _worker_address(host, port)
    return f"{target}/proxy/{port}/{host}{prefix}"


def _worker_address(host: str, port: int) -> IPAddress | None:
    """The IP address of a worker; None for a host name. Raises AddressError if it is neither."""
    if not 0 < port < 65536:
        raise AddressError(f"the worker's port {port} is not valid")
    try:
        return parse_ip(host)
    except ValueError:
        if not HOST_NAME.fullmatch(host):
            raise AddressError(f"the worker's host {host[:60]!r} is not a host name") from None
        return None


def is_local(target: str) -> bool:
    """Whether a target's host is this machine, so that its workers' 127.0.0.1 is too. Blocks."""
    try:
        found = socket.getaddrinfo(urlsplit(target).hostname, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(is_this_machine(parse_ip(str(entry[4][0]))) for entry in found)


def is_this_machine(address: IPAddress) -> bool:
    """Whether a socket of this machine can be bound to `address`."""
    if address.is_unspecified:
        return False
    try:
        with socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
