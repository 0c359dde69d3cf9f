"""Sentry and GlitchTip: an event for each exception and place in the code that tasks of a run failed with."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import psycopg
from django.core.exceptions import ValidationError

from observatory.alerts.notifying.addresses import check_http_address
from observatory.exchange.receivers.receiver_kind import Address, Options, ReceiverKind
from observatory.exchange.receivers.sentry.events import event_of
from observatory.runs.errors.counting import merge
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_of
from observatory.store.archive.scans.conditions import Condition
from observatory.store.queries.tasks.errors import task_error
from observatory.store.queries.windows.error_places import traced_errors
from observatory.store.scanning import scanned

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

    def send(self, connection: psycopg.Connection, run: Run, address: Address, options: Options) -> str:
        from observatory.exchange.receivers.sentry.envelopes import Posting

        assert run.stop is not None
        others = other_work_of(connection, run, run.stop)
        cluster, within = run.cluster_id, Condition((), run.start, run.stop)
        with scanned(connection, cluster, {"error": within}):
            kinds = merge(traced_errors(connection, cluster, run.start, run.stop, others))
            last = [
                (kind, task_error(connection, cluster, kind["last_id"])) for kind, _ in kinds[:MOST_EVENTS]
            ]
        posting, sent = Posting(address.url), 0
        for kind, error in last:
            if error is not None:
                posting.post(event_of(run, kind, error, options.arguments))
                sent += 1
        return f"{sent:,} of {len(kinds):,} kinds of errors."

    def send_test(self, address: Address) -> None:
        from observatory.exchange.receivers.sentry.envelopes import Posting

        message = "Test of a receiver of runs: it works."
        Posting(address.url).post({"level": "info", "message": message, "timestamp": time.time()})


RECEIVER = Sentry()
