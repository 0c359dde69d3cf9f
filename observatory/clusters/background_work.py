"""What rows of work that Celery does have in common: how far it is, and whether it is over."""

from __future__ import annotations

from django.db import models

OPEN = ("waiting", "running")
"""states of unfinished work"""


class BackgroundWork(models.Model):
    """A subclass has a field `state`, whose values include those of OPEN."""

    state: models.CharField[str, str]
    progress = models.FloatField(default=0.0, help_text="From 0 to 1.")

    class Meta:
        abstract = True

    @property
    def is_over(self) -> bool:
        return self.state not in OPEN

    @property
    def percent(self) -> int:
        return int(100 * self.progress)
