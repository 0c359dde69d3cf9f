"""Makes targets of what a discovery found, and removes those that it no longer finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from observatory.clusters.addresses.http_addresses import clean_target_url
from observatory.clusters.addresses.ip_addresses import is_reserved, parse_ip
from observatory.clusters.models import Discovery, Target
from observatory.collect.discovery.asking import Answer
from observatory.collect.discovery.kind import MOST_FOUND, Found

MOST_MISSED = 2
"""Successive answers without a target after which it is removed."""
NAMED_PROBLEMS = 3
LONGEST_NAME = 100
LONGEST_TEXT = 500
ASKED_WITH = ("kind", "address", "namespace", "secret")


@dataclass(slots=True)
class Listed:
    """What of an answer can be observed: names by address; and what cannot."""

    names: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    has_more: bool = False


@transaction.atomic
def apply(asked: Discovery, answer: Answer) -> None:
    """Stores the answer to a discovery and changes its targets. A failed one changes no target."""
    discovery = Discovery.objects.select_for_update().filter(pk=asked.pk, enabled=True).first()
    if discovery is None or any(getattr(asked, name) != getattr(discovery, name) for name in ASKED_WITH):
        return  # it was changed since, and the answer is that to another question
    discovery.error = answer.error[:LONGEST_TEXT]
    if not answer.error:
        listed = read(answer)
        others = update_targets(discovery, listed)
        discovery.answered = timezone.now()
        discovery.found = len(listed.names)
        discovery.warning = warning(listed, others)
    discovery.save(update_fields=["error", "answered", "found", "warning"])


def read(answer: Answer) -> Listed:
    """Checks what was found, as the addresses that people enter are checked."""
    listed = Listed()
    for found in answer.found:
        try:
            url = clean_url(found, answer.is_on_this_machine)
        except ValidationError as error:
            listed.problems.append(f"{printable(found.name or found.url)}: {' '.join(error.messages)}")
            continue
        if url not in listed.names and len(listed.names) == MOST_FOUND:
            listed.has_more = True
            break
        listed.names.setdefault(url, printable(found.name) or urlsplit(url).netloc[:LONGEST_NAME])
    return listed


def clean_url(found: Found, is_on_this_machine: bool) -> str:
    """The address of a target. Raises ValidationError, which says why it is none."""
    if found.problem:
        raise ValidationError(found.problem)
    url = clean_target_url(found.url)
    if len(url) > LONGEST_TEXT:
        raise ValidationError(f"Its address is longer than {LONGEST_TEXT} characters.")
    try:
        host = parse_ip(urlsplit(url).hostname or "")
    except ValueError:
        return url  # a name: the collector's resolver refuses what it stands for
    if is_reserved(host) and not (is_on_this_machine and host.is_loopback):
        raise ValidationError("Its address is not that of another machine.")
    return url


def printable(text: str) -> str:
    """A text from outside, as the name of a target."""
    return "".join(character for character in text if character.isprintable()).strip()[:LONGEST_NAME]


def update_targets(discovery: Discovery, listed: Listed) -> int:
    """Adds and removes targets. Returns how many listed addresses other targets of the project have."""
    known = {target.url: target for target in Target.objects.filter(project_id=discovery.project_id)}
    own = {url: target for url, target in known.items() if target.discovery_id == discovery.pk}
    names = {target.name for target in known.values()}
    new = []
    for url, name in listed.names.items():
        if url not in known:
            new.append(target_of(discovery, url, free_name(name, url, names)))
            names.add(new[-1].name)
    # a person may add the same address at the same time, which then is theirs
    Target.objects.bulk_create(new, ignore_conflicts=True)
    forget_missing(discovery, {url for url in own if url not in listed.names})
    return len(listed.names.keys() & known.keys() - own.keys())


def target_of(discovery: Discovery, url: str, name: str) -> Target:
    return Target(
        project_id=discovery.project_id,
        discovery=discovery,
        name=name,
        url=url,
        secret=discovery.shared_secret,
        workers=discovery.workers,
        identity_interval=discovery.identity_interval,
        metrics_interval=discovery.metrics_interval,
    )


def free_name(name: str, url: str, taken: set[str]) -> str:
    """The name, or the name with its host and port, or with a number, as targets of a project differ."""
    return next(one for one in _candidates(name, urlsplit(url).netloc) if one not in taken)


def _candidates(name: str, host: str) -> Iterator[str]:
    endings = chain(("", f" ({host[: LONGEST_NAME // 2]})"), (f" ({number})" for number in count(2)))
    return (name[: LONGEST_NAME - len(ending)] + ending for ending in endings)


def forget_missing(discovery: Discovery, missing: set[str]) -> None:
    """Removes the targets that successive answers lacked. The collector ends their clusters."""
    targets = Target.objects.filter(discovery=discovery)
    targets.exclude(url__in=missing).exclude(missed=0).update(missed=0)
    gone = targets.filter(url__in=missing)
    gone.filter(missed__gte=MOST_MISSED - 1).delete()
    gone.update(missed=F("missed") + 1)


def warning(listed: Listed, others: int) -> str:
    """What of the list is not observed by this discovery, and why, in one line."""
    parts = []
    if listed.has_more:
        parts.append(f"The list has more than {MOST_FOUND:,} clusters: those after them are left out.")
    if listed.problems:
        named = "; ".join(problem[:120].rstrip(".") for problem in listed.problems[:NAMED_PROBLEMS])
        more = "; …" if len(listed.problems) > NAMED_PROBLEMS else ""
        parts.append(f"{len(listed.problems):,} cannot be observed: {named}{more}.")
    if others:
        are = "is a target" if others == 1 else "are targets"
        parts.append(f"{others:,} {are} already, and left as before.")
    return " ".join(parts)[:LONGEST_TEXT]
