"""Background work has a lower priority than what people wait for, and so have its sessions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from django.db import connection as django_connection

from observatory.base import priority
from observatory.store.connection import close_pools, connect, read_connection

GROUP = Path("/proc/self/autogroup")
LOWERED = f"""
import os
from pathlib import Path
from observatory.base import priority
os.setsid()
priority.lower_own()
group = Path("{GROUP}")
print(os.nice(0), group.read_text().split()[-1] if group.exists() else priority.NICENESS)
"""


def test_a_process_lowers_its_priority_among_processes_and_that_of_its_session_among_sessions() -> None:
    command = [sys.executable, "-c", LOWERED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(priority.NICENESS)] * 2


def test_processes_that_start_at_once_all_do_although_linux_takes_ten_a_second_of_ordinary_users() -> None:
    command = [sys.executable, "-c", LOWERED]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [process.communicate()[0].split() for process in started]
    assert printed == [[str(priority.NICENESS)] * 2] * 3


@pytest.mark.parametrize("is_lower", [False, True])
@pytest.mark.django_db(transaction=True)
def test_sessions_have_the_priority_of_their_process(monkeypatch: pytest.MonkeyPatch, is_lower: bool) -> None:
    monkeypatch.setattr(priority, "_is_lower", is_lower)
    close_pools()
    django_connection.close()
    django_connection.ensure_connection()
    with connect() as one, read_connection() as pooled:
        backends = [each.info.backend_pid for each in (one, pooled, django_connection.connection)]
        if not all(map(_is_ours, backends)):
            pytest.skip("the database runs elsewhere, or as another user")
        found = [psutil.Process(backend).nice() for backend in backends]
    assert found == [priority.NICENESS if is_lower else 0] * 3
    close_pools()
    django_connection.close()


def _is_ours(process: int) -> bool:
    try:
        found = psutil.Process(process)
        return found.name() == "postgres" and os.getuid() in (0, found.uids().real)
    except psutil.NoSuchProcess:
        return False
