"""Sends runs to receivers when they have ended, and tries again later what fails.

One process at a time sends to a receiver: it holds the receiver's lock. A later attempt goes on behind what
the receiver accepted. A run that is sent again has the same ids as before, so that a receiver can overwrite
what it got of it.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from http import HTTPStatus

from django.db.models import F, QuerySet

from observatory.alerts.notifying.delivery import MAX_ATTEMPTS, pause
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.http_post import RefusedError
from observatory.alerts.secrets import SecretLost
from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers.kinds import receiver_kind
from observatory.exchange.receivers.progress import Progress
from observatory.exchange.receivers.receiver_kind import Address, NotYet, Options
from observatory.exchange.receivers.secrets import decrypt
from observatory.runs.models import Run
from observatory.store.connection import connect, connect_reader, is_unavailable
from observatory.store.late_records import COUNTING
from observatory.store.maintenance.advisory_lock import RECEIVERS, try_lock

log = logging.getLogger(__name__)

State = RunDelivery.State
SENT_ORIGINS = (Run.Origin.FOUND, Run.Origin.CODE)
"""of runs that are sent: the others are of the past"""
RECENT = timedelta(days=1)
"""runs that ended before are not sent to a receiver that was off"""
LATE = timedelta(seconds=COUNTING)
"""after the end of a run, in which records of its tasks still arrive"""
MOST_RUNS = 1_000
"""that one round prepares or sends; further ones wait for the next"""
POSTPONED = timedelta(minutes=1)
LONGEST_PAUSE = 3600.0
"""seconds that a receiver can ask for"""
UNEXPECTED = "Unexpected error; the worker's log has the details."
TEMPORARY = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
"""answers after which the same request may succeed"""


def due_receivers(at: datetime) -> list[int]:
    """Notes which runs are to be sent; returns the receivers with due ones."""
    for receiver in Receiver.objects.filter(enabled=True):
        found = [RunDelivery(receiver=receiver, run=run, due=at) for run in _new_runs(receiver, at)]
        RunDelivery.objects.bulk_create(found, ignore_conflicts=True)
    RunDelivery.objects.filter(state=State.DUE, receiver__enabled=False).update(state=State.UNNEEDED)
    waiting = RunDelivery.objects.filter(state=State.DUE, due__lte=at)
    return list(waiting.order_by("receiver").values_list("receiver", flat=True).distinct())


def _new_runs(receiver: Receiver, at: datetime) -> list[Run]:
    """The runs that ended since the receiver was made, are counted, and aren't noted yet."""
    since = max(receiver.created, at - RECENT)
    runs = Run.objects.filter(origin__in=SENT_ORIGINS, stop__gte=since, counted__gte=F("stop") + LATE)
    runs = runs.exclude(deliveries__receiver=receiver).exclude(cluster__project__is_own=True)
    if projects := list(receiver.projects.values_list("pk", flat=True)):
        runs = runs.filter(cluster__project__in=projects)
    patterns = [line.strip() for line in receiver.run_names.splitlines() if line.strip()]
    chosen = runs.order_by("stop").only("pk", "name")
    return [run for run in chosen.iterator() if matches(run.name, patterns)][:MOST_RUNS]


def matches(name: str, patterns: list[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def deliver_to(receiver_id: int, at: datetime) -> None:
    """Sends the runs that are due to a receiver, up to the first that has to be tried again.

    Does nothing while another process does.
    """
    with connect() as connection, try_lock(connection, receiver_id, RECEIVERS) as is_ours:
        receiver = Receiver.objects.filter(pk=receiver_id, enabled=True).first()
        if not is_ours or receiver is None:
            return
        for delivery in _due(receiver, at)[:MOST_RUNS]:
            if not _attempt(receiver, delivery, at):
                return


def _due(receiver: Receiver, at: datetime) -> QuerySet[RunDelivery]:
    due = receiver.deliveries.filter(state=State.DUE, due__lte=at).order_by("due", "pk")
    return due.select_related("run__cluster__project")


def _attempt(receiver: Receiver, delivery: RunDelivery, at: datetime) -> bool:
    """False: the receiver can't take runs now."""
    ours = RunDelivery.objects.filter(pk=delivery.pk)
    progress = Progress(delivery.accepted)
    attempts = delivery.attempts + 1
    try:
        report = _send(receiver, delivery.run, progress)
    except NotYet:
        ours.update(due=at + POSTPONED)
        return True
    except Exception as error:
        if is_unavailable(error):
            raise
        if not isinstance(error, SendError):
            log.exception("sending run %d to receiver %d failed", delivery.run_id, receiver.pk)
        text = str(error) if isinstance(error, SendError) else UNEXPECTED
        if progress.has_grown:
            attempts = 1  # of getting any further
        is_final = attempts >= MAX_ATTEMPTS or _is_final(error)
        state = State.FAILED if is_final else State.DUE
        due = at + max(pause(attempts), _asked(error))
        ours.update(
            state=state, due=due, attempts=attempts, last_error=text[:500], accepted=progress.accepted
        )
        log.warning(
            "sending run %d to receiver %d failed (attempt %d): %s",
            *(delivery.run_id, receiver.pk, attempts, text),
        )
        return is_final
    ours.update(state=State.SENT, sent=at, attempts=attempts, last_error="", report=report[:500], accepted={})
    return True


def _send(receiver: Receiver, run: Run, progress: Progress) -> str:
    """Returns what was sent. Raises as ReceiverKind.send."""
    address = _address(receiver)
    options = Options(
        receiver.most_tasks, receiver.sends_logs, receiver.sends_metrics, receiver.sends_arguments
    )
    with connect_reader() as connection:  # none of a pool: the receiver may be slow
        return receiver_kind(receiver.kind).send(connection, run, address, options, progress)


def send_test(receiver: Receiver) -> None:
    """Raises SendError."""
    receiver_kind(receiver.kind).send_test(_address(receiver))


def _address(receiver: Receiver) -> Address:
    """Raises SendError."""
    try:
        return decrypt(receiver.secret)
    except SecretLost as error:
        raise SendError(str(error)) from None


def _is_final(error: Exception) -> bool:
    return isinstance(error, RefusedError) and error.status not in TEMPORARY


def _asked(error: Exception) -> timedelta:
    """The pause that a receiver asked for."""
    seconds = error.retry_after if isinstance(error, RefusedError) else None
    return timedelta(seconds=min(seconds or 0.0, LONGEST_PAUSE))
