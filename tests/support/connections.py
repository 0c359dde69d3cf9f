"""The store's connections that a test closes are used again by the next ones.

A new one costs 3 ms, and its first statements more: PostgreSQL reads its catalog anew for each.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import pq

from observatory.store import connection as store_connection

_CLOSED = pq.PGconn.connect_start(b"host=/nowhere")
_CLOSED.finish()
"""what a closed connection has"""

_connect_anew = store_connection._connect

_idle: defaultdict[tuple[Any, ...], deque[pq.abc.PGconn]] = defaultdict(deque)
"""by process and parameters"""


class _Reused(psycopg.Connection[Any]):
    """A connection that, once closed, leaves its session to the next one with the same parameters."""

    key: tuple[Any, ...] = ()

    def close(self) -> None:
        if not self.closed and self._reset():
            _idle[self.key].append(self.pgconn)
            self.pgconn = _CLOSED
        else:
            super().close()

    def _reset(self) -> bool:
        """Makes the session as new, without locks, settings and prepared statements; False if it can't."""
        is_ours = self.key[:1] == (os.getpid(),)
        if not is_ours or self.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            return False
        return self.pgconn.exec_(b"DISCARD ALL").status == pq.ExecStatus.COMMAND_OK

    def __del__(self) -> None:
        self.close()


@pytest.fixture(scope="session", autouse=True)
def _reusing_connections() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_connection, "_connect", _connect)
        yield


@pytest.fixture
def new_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of when connections are opened and closed."""
    monkeypatch.setattr(store_connection, "_connect", _connect_anew)


def _connect(parameters: dict[str, Any]) -> psycopg.Connection[Any]:
    key = (os.getpid(), *sorted(parameters.items()))
    while _idle[key]:
        try:
            return _configured(_Reused(_idle[key].pop()), key)
        except psycopg.OperationalError:
            pass  # the database restarted
    return _configured(_Reused.connect(**parameters), key)


def _configured(connection: _Reused, key: tuple[Any, ...]) -> _Reused:
    connection.autocommit = True
    store_connection._configure(connection, store_connection.SESSION)
    connection.key = key
    return connection
