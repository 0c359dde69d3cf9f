"""Celery tasks of deletions."""

from __future__ import annotations

import logging
from datetime import timedelta

from celery import shared_task
from django.utils.timezone import now

from observatory.clusters.background_work import OPEN
from observatory.clusters.deletion.models import Deletion
from observatory.store.connection import connect, is_unavailable
from observatory.store.maintenance.advisory_lock import DELETIONS, try_lock

log = logging.getLogger(__name__)

RESUMED = timedelta(seconds=30)
"""age from which an open deletion that nobody works on is taken up"""


@shared_task  # type: ignore[untyped-decorator]
def delete(deletion_id: int) -> None:
    """Does a deletion. Its advisory lock shows that it is being done, and ends with this process."""
    from observatory.clusters.deletion.deletions import perform

    with connect() as connection, try_lock(connection, deletion_id, DELETIONS) as is_ours:
        deletion = Deletion.objects.filter(pk=deletion_id, state__in=OPEN).first()
        if not is_ours or deletion is None:
            return
        try:
            perform(deletion)
        except Exception as error:
            if is_unavailable(error):
                raise  # it goes on when the database is back
            log.exception("deletion %d failed", deletion_id)
            fail(deletion, "Unexpected error; the worker's log has the details. Delete it again to go on.")


def fail(deletion: Deletion, message: str) -> None:
    """Ends a deletion: what is left is seen again."""
    Deletion.objects.filter(pk=deletion.pk).update(
        state=Deletion.State.FAILED, finished=now(), message=message
    )


@shared_task  # type: ignore[untyped-decorator]
def resume_deletions() -> None:
    """Goes on with deletions whose process died, or that no process began."""
    waiting = Deletion.objects.filter(state__in=OPEN, created__lt=now() - RESUMED)
    for number in waiting.order_by("pk").values_list("pk", flat=True):
        delete(number)
