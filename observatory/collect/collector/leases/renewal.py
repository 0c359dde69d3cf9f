"""Renews the leases of a collector in a thread of its own, however busy the event loop is."""

from __future__ import annotations

import logging
import threading
import time

from django.db import Error as DatabaseError
from django.db import close_old_connections

from observatory.collect.collector.leases.lease import RENEWAL, Leases
from observatory.collect.collector.load.process_load import ProcessLoad

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 30.0
"""Seconds that the event loop may take for a round; after that others shall take over."""


class LeaseRenewal:
    """Renews from `start` to `stop`."""

    def __init__(self, leases: Leases, load: ProcessLoad) -> None:
        self.leases = leases
        self.load = load
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Blocks until the renewal that runs has ended."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(RENEWAL):
            if time.monotonic() - self.load.looked > LONGEST_PAUSE:
                continue
            try:
                self.leases.renew()
            except DatabaseError as error:
                logger.warning("cannot renew the leases: %s", str(error).strip()[:200])
            finally:
                close_old_connections()
