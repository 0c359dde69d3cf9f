"""Pseudonyms: what a public link shows instead of addresses, hosts and process ids."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection
from observatory.store.queries.timeline import WorkerAddresses, worker_addresses

ADDRESS = "(address)"
PROCESS = "(process id)"
SCHEDULER = "scheduler"
OWN_WORDS = frozenset({"address", "host", "id", "nanny", "of", "process", "scheduler", "worker"})
"""words of the pseudonyms; hosts and workers with such a name keep it"""
SHORTEST_PROCESS = 5
"""digits of a process id that is hidden wherever it appears; shorter ones look like any number"""
LONGEST_NAME = 10
"""parts, separated by dots and hyphens, of a name that is looked for within longer words"""
CACHED = 8
"""clusters whose pseudonyms are kept: those of 5,000 workers take 0.1 s"""
SHORTEST_IPV6 = 6
"""characters; shorter ones look like slices in code"""

_PROCESS = re.compile(r"""((?<![a-z])(?:p?pid|process|parent)\b[\s=:#'"(]{1,3})\d+(?!\.?\d)""", re.IGNORECASE)
_PROCESS_ITEM = re.compile(r'("(?:\w*_)?p?pid"\s*:\s*)(?:-?\d[\d.e+-]*|"\d+")', re.IGNORECASE)
_ADDRESS = re.compile(
    r"""
    \b(?:tcp|tls|ucxx?|inproc|wss?|https?)://(?:[^\s/@'"<>]{1,100}@)?(?:\[[^\s\]]*\]|[\w.-]+)(?::\d+)?(?:/[\w./~%-]*)?
    | (?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\d)(?::\d+)?
    | (?<![a-z])(?:ip|tcp|tls)-+\d{1,3}(?:-\d{1,3}){3}(?!-?\d)(?:\.[\w-]+)*(?::\d+)?
    | (?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"(\w+(?:[.-]\w+)*)(?::\d+)?")
_SEPARATOR = re.compile(r"([.-])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """Replaces the addresses, hosts and process ids of a cluster in what a scope shows.

    Texts are searched for those that the cluster is known to have, and for everything that looks like an
    address or like the id of a process.
    """

    workers: dict[str, str]
    """“worker 3” by name or address"""
    hosts: dict[str, str]
    """“host 1” by host"""
    words: dict[str, str]
    """pseudonyms of names, hosts, addresses and process ids in lower case"""
    first_parts: frozenset[str]
    """of the words, up to their first dot or hyphen"""

    def worker(self, name: str) -> str:
        """Return the pseudonym of a worker, by its name or address; "" for none."""
        return self.workers.get(name) or self.text(name)

    def item(self, worker: dict[str, Any]) -> dict[str, Any]:
        """Return a worker of the API with pseudonyms."""
        pseudonym = self.worker(worker["name"] or worker["address"])
        return {
            **worker,
            "name": pseudonym,
            "address": pseudonym,
            "slot": self.worker(worker["slot"]),
            "host": self.hosts.get(worker["host"], ""),
            "end_reason": self.text(worker["end_reason"]),
        }

    def text(self, text: str) -> str:
        """Replace what is hidden in a text."""
        text = _ADDRESS.sub(self._address, _PROCESS.sub(rf"\1{PROCESS}", text))
        return _WORD.sub(self._word, text) if self.words else text

    def json(self, document: str) -> str:
        """Replace what is hidden in the texts of a JSON document; process ids become null."""
        document = _PROCESS_ITEM.sub(r"\1null", document)
        return _STRING.sub(lambda found: json.dumps(self.text(json.loads(found[0]))), document)

    def _address(self, found: re.Match[str]) -> str:
        text = found[0]
        known = self.words.get(text.lower().rstrip("/."))
        if known is not None:
            return known
        if re.fullmatch("[0-9a-f:]+", text, re.IGNORECASE) and not _is_ipv6(text):
            return text
        return ADDRESS

    def _word(self, found: re.Match[str]) -> str:
        """Replace known names and hosts, also where they are parts of a longer word, and their port."""
        parts = _SEPARATOR.split(found[1])
        shown, first = [], 0
        while first < len(parts):
            length, pseudonym = self._known(parts, first)
            shown.append(pseudonym)
            first += length
        return found[0] if shown == parts else "".join(shown)

    def _known(self, parts: Sequence[str], first: int) -> tuple[int, str]:
        """Return how many parts the longest known word at `first` has, and its pseudonym; else one part."""
        if parts[first].lower() in self.first_parts:
            for length in range(min(2 * LONGEST_NAME - 1, len(parts) - first), 0, -1):
                pseudonym = self.words.get("".join(parts[first : first + length]).lower())
                if pseudonym is not None:
                    return length, pseudonym
        return 1, parts[first]


def read_pseudonyms(cluster: Cluster) -> Pseudonyms:
    """Return the pseudonyms of a cluster's workers, hosts and processes."""
    with read_connection() as connection:
        return make_pseudonyms(tuple(worker_addresses(connection, cluster.pk)), cluster.address)


@lru_cache(CACHED)
def make_pseudonyms(workers: tuple[WorkerAddresses, ...], scheduler: str) -> Pseudonyms:
    """Number the workers and their hosts in the order in which they were first seen.

    A worker whose name is a number keeps it. Lifetimes with the same name are one worker.
    """
    numbers = {worker.name for worker in workers if worker.name.isdecimal()}
    free = (f"worker {number}" for number in count() if str(number) not in numbers)
    labels: dict[str, str] = {}
    hosts: dict[str, str] = {}
    words: dict[str, str] = {}
    for worker in workers:
        known_as = worker.name or worker.address
        if known_as not in labels:
            labels[known_as] = f"worker {known_as}" if known_as in numbers else next(free)
        label = labels[worker.address] = labels[known_as]
        names = [name for name in (worker.host, _host(worker.address), _host(worker.nanny)) if name]
        if names:
            host = hosts.setdefault(names[0], f"host {len(hosts)}")
            for name in names:
                _add_host(words, name, host)
        _add_address(words, worker.address, label)
        _add_address(words, worker.nanny, f"nanny of {label}")
        _add_word(words, worker.name, label)
        if len(worker.process) >= SHORTEST_PROCESS:
            words[worker.process] = PROCESS
    _add_address(words, scheduler, SCHEDULER)
    _add_host(words, _host(scheduler), SCHEDULER)
    return Pseudonyms(labels, hosts, words, frozenset(_SEPARATOR.split(word, 1)[0] for word in words))


def _add_address(words: dict[str, str], address: str, label: str) -> None:
    """Add an address with and without its protocol."""
    if address:
        for text in (address.lower(), address.lower().rpartition("://")[2]):
            words.setdefault(text, label)


def _add_host(words: dict[str, str], host: str, label: str) -> None:
    """Add a host, and the first part of a domain name."""
    _add_word(words, host, label)
    if host and not _is_ip(host):
        _add_word(words, host.partition(".")[0], label)


def _add_word(words: dict[str, str], word: str, label: str) -> None:
    if word and not word.isdecimal() and word.lower() not in OWN_WORDS:
        words.setdefault(word.lower(), label)


def _host(address: str) -> str:
    with suppress(ValueError):
        return urlsplit(address).hostname or ""
    return ""


def _is_ip(host: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return False


def _is_ipv6(text: str) -> bool:
    return len(text) >= SHORTEST_IPV6 and _is_ip(text)
