"""Where a worker's pages are, as the store knows it. Nothing of a request but two ids decides that."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404

from observatory.clusters.access import Person, get_cluster
from observatory.clusters.addresses.ip_addresses import IPAddress
from observatory.clusters.models import Target
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.credentials.storage import CredentialsLost, unseal
from observatory.collect.discovery.trust import may_be_this_machine
from observatory.collect.http.addresses import AddressError, is_local, proxied_worker_url, worker_url
from observatory.store.connection import read_connection
from observatory.store.queries.worker_place import WorkerPlace, read_worker_place


class Missing(Enum):
    """Why a worker's pages can't be shown. The value is the status of the answer."""

    REFUSED = 403
    """Observatory does not request this address."""
    NO_DASHBOARD = 404
    ENDED = 410
    UNREACHABLE = 502


class NoPages(Exception):
    """A worker whose pages can't be shown; the message is shown to people."""

    def __init__(self, missing: Missing, message: str) -> None:
        super().__init__(message)
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Destination:
    """The pages of one living worker."""

    cluster: int
    worker: WorkerPlace
    urls: tuple[str, ...]
    """Where they can be, without a slash at the end: workers can have the scheduler's --dashboard-prefix."""
    credentials: Credentials
    """Without those that the worker must not get."""
    trusted: str
    """The URL of a target whose host may be this machine; "" for none."""


def find_destination(user: Person, cluster_id: int, worker_id: int) -> Destination:
    """The pages of a worker of a cluster that `user` sees. Blocks. Raises Http404 and NoPages."""
    cluster = get_cluster(user, cluster_id)
    with read_connection() as connection:
        worker = read_worker_place(connection, cluster.pk, worker_id)
    if worker is None:
        raise Http404("This worker doesn't exist, or you don't have access to it.")
    if worker.ended is not None or cluster.ended is not None:
        raise NoPages(Missing.ENDED, "The worker has ended, and its own pages ended with it.")
    if worker.port is None:
        raise NoPages(
            Missing.NO_DASHBOARD,
            "No address of its pages is known: the worker has no HTTP server, or an agent of an older "
            "version reports it.",
        )
    target = cluster.target
    try:
        if target is None:
            urls: tuple[str, ...] = (worker_url("http:", worker.host, worker.port, is_local=False),)
            return Destination(cluster.pk, worker, urls, Credentials(), "")
        return Destination(
            cluster.pk,
            worker,
            _urls(target, worker.host, worker.port),
            _credentials(target),
            target.url if may_be_this_machine(target) else "",
        )
    except (AddressError, CredentialsLost) as error:
        raise NoPages(Missing.REFUSED, f"Observatory does not request them: {error}") from None


def is_permitted(address: IPAddress) -> bool:
    """Whether it is in one of the networks of OBSERVATORY_WORKER_PAGES."""
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in ipaddress.ip_network(network) for network in settings.WORKER_PAGES)


def _urls(target: Target, host: str, port: int) -> tuple[str, ...]:
    prefixes = dict.fromkeys(("", urlsplit(target.url).path))
    if target.workers == Target.Workers.PROXY:
        return tuple(proxied_worker_url(target.url, host, port, prefix) for prefix in prefixes)
    scheme = "http" if target.workers == Target.Workers.HTTP else ""
    local = is_local(target.url)
    return tuple(worker_url(target.url, host, port, local, prefix, scheme) for prefix in prefixes)


def _credentials(target: Target) -> Credentials:
    """As for /metrics: a worker gets passwords, tokens and headers only where that is set."""
    credentials = unseal(target.secret)
    if target.workers in {Target.Workers.CREDENTIALS, Target.Workers.PROXY}:
        return credentials
    return Credentials(ca=credentials.ca, certificate=credentials.certificate, key=credentials.key)
