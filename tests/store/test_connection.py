from __future__ import annotations

from contextlib import ExitStack

import psycopg

from observatory.store.connection import MOST_READERS, reading


def test_readers_are_there_again_after_the_database_broke_all_of_them(connection: psycopg.Connection) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(reading()) for _ in range(MOST_READERS)]
        backends = [reader.info.backend_pid for reader in readers]
    assert len(set(backends)) == MOST_READERS
    for backend in backends:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    for _ in range(3):
        with reading() as reader:
            assert reader.info.backend_pid not in backends
            assert reader.execute("SHOW timezone").fetchone() == ("UTC",)
