"""Sentry and GlitchTip: an event for each exception and place in the code that a run failed with."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import psycopg
from django.core.exceptions import ValidationError

from observatory.alerts.notifying.addresses import check_http_address
from observatory.exchange.receivers.progress import Progress
from observatory.exchange.receivers.receiver_kind import Address, Options, ReceiverKind
from observatory.exchange.receivers.sentry.events import event_of_code, event_of_tasks
from observatory.runs.errors.counting import kind_of_code, merge
from observatory.runs.errors.run_exceptions import exception_of, is_of_task
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_of
from observatory.store.archive.scans.conditions import Condition
from observatory.store.queries.tasks.errors import task_error
from observatory.store.queries.windows.errors.error_places import traced_errors
from observatory.store.reading.scanning import scanned

MOST_EVENTS = 100
"""of a run: those of the most frequent errors"""
DSN = "https://key@sentry.example.org/7"
NOT_INSTALLED = "Sentry's library isn't installed: `pip install 'dask-observatory[sentry]'`."


class Sentry(ReceiverKind):
    examples = f"the DSN, {DSN}"

    def clean_address(self, text: str) -> str:
        check_http_address(text, DSN, advice="")
        try:
            from observatory.exchange.receivers.sentry.envelopes import is_dsn
        except ImportError:
            raise ValidationError(NOT_INSTALLED) from None
        if not is_dsn(text):
            raise ValidationError(f"This is no DSN. It looks like {DSN}.")
        return text

    def host_of(self, url: str) -> str | None:
        return urlsplit(url).hostname

    def send(
        self, connection: psycopg.Connection, run: Run, address: Address, options: Options, progress: Progress
    ) -> str:
        from observatory.exchange.receivers.sentry.envelopes import Posting

        assert run.stop is not None
        others = other_work_of(connection, run, run.stop)
        cluster, within = run.cluster_id, Condition((), run.start, run.stop)
        with scanned(connection, cluster, {"error": within}):
            kinds = merge(traced_errors(connection, cluster, run.start, run.stop, others))
            last = [
                (kind, task_error(connection, cluster, kind["last_id"])) for kind, _ in kinds[:MOST_EVENTS]
            ]
        events = [
            event_of_tasks(run, kind, error, options.arguments) for kind, error in last if error is not None
        ]
        raised = exception_of(connection, run)
        is_of_code = raised is not None and not any(is_of_task(raised, kind) for kind, _ in kinds)
        if raised is not None and is_of_code:
            events.append(event_of_code(run, kind_of_code(run, raised), raised))
        posting = Posting(address.url)
        for event in events:
            posting.post(event)
        return f"{len(events):,} of {len(kinds) + is_of_code:,} kinds of errors."

    def send_test(self, address: Address) -> None:
        from observatory.exchange.receivers.sentry.envelopes import Posting

        message = "Test of a receiver of runs: it works."
        Posting(address.url).post({"level": "info", "message": message, "timestamp": time.time()})


RECEIVER = Sentry()
