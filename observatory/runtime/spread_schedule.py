"""Beat's schedule with the tasks spread over time.

Those of one interval would otherwise be due in the same instant for good: each needs a thread, a session of
PostgreSQL and its memory, which one after the other would use again.
"""

from __future__ import annotations

from datetime import timedelta

from celery.beat import PersistentScheduler
from celery.schedules import crontab

GOLDEN = 0.618033988749895
"""multiples of it are spread evenly between whole numbers"""
LONGEST = timedelta(minutes=10)
"""intervals up to which a task doesn't wait for its turn of before a restart"""


class SpreadScheduler(PersistentScheduler):  # type: ignore[misc]
    """As Celery's own, whose tasks begin at different parts of their intervals."""

    def setup_schedule(self) -> None:
        super().setup_schedule()
        for place, name in enumerate(sorted(self.schedule)):
            entry = self.schedule[name]
            if isinstance(entry.schedule, crontab) or entry.schedule.run_every > LONGEST:
                continue
            entry.last_run_at = entry.default_now() - entry.schedule.run_every * (place * GOLDEN % 1)
