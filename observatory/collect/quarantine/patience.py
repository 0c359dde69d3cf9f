"""How long a batch that fails is tried again before it goes into quarantine."""

from __future__ import annotations

from time import monotonic

from observatory.store.connection import is_unavailable
from observatory.store.outages.free_space import storage_faults

PATIENCE = 180.0
"""seconds"""


class Patience:
    """The time for which one batch has failed although the database accepts others."""

    def __init__(self) -> None:
        self.since: float | None = None
        """when it began (monotonic)"""

    def is_over(self, error: Exception) -> bool:
        """To be called at each failure of the batch. Blocks: a trial is written to the database."""
        if is_unavailable(error) or storage_faults().database:
            self.since = None
            return False
        now = monotonic()
        if self.since is None:
            self.since = now
        return now - self.since >= PATIENCE
