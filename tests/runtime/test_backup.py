"""`backup` and `restore`: what was recorded, sign-in, links and channels are the same in an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command

from observatory.alerts.models import Channel
from observatory.alerts.rules import ready_made
from observatory.alerts.secrets import encrypt
from observatory.base.environment import run_dir
from observatory.runs.models import Permalink
from observatory.runs.sharing.link_tokens import shown
from observatory.runs.sharing.links import make_link
from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.embedded.postgres import Postgres
from observatory.store.connection import connect
from tests.runtime.machine import manage
from tests.support import services
from tests.support.observed_cluster import Observed, agent_server, observed
from tests.support.projects import World, world

__all__ = ["agent_server", "observed", "world"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

Tables = dict[str, tuple[int, str]]
PASSWORD = "correct horse battery staple"
VISIT = """
from django.test import Client
from observatory.alerts.models import Channel
from observatory.alerts.rules import ready_made
from observatory.alerts.secrets import decrypt
visitor, member = Client(), Client()
signed_in = member.post("/sign-in/", {{"username": "owner", "password": {password!r}}})
print(signed_in.status_code, signed_in.headers.get("Location"), member.get("/runs/").status_code)
print(visitor.get("/r/{token}").status_code, visitor.get("/r/none").status_code)
print(decrypt(Channel.objects.get(name="pager").secret))
"""
"""signs in, opens a link, and reads the address of a channel, as the restored server would"""


def contents(connection: psycopg.Connection) -> Tables:
    """The number of rows of each table, and a digest of what they are."""
    names = connection.execute(
        """SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
           AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname"""
    ).fetchall()
    found = {}
    for (name,) in names:
        query = f"""SELECT count(*), md5(coalesce(string_agg(line, '|' ORDER BY line), ''))
                    FROM (SELECT md5(t::text) AS line FROM "{name}" t) AS lines"""
        [found[name]] = connection.execute(query.encode()).fetchall()
    return found


@contextmanager
def running(data_dir: Path) -> Iterator[psycopg.Connection]:
    """The embedded database of a folder in which `up` does not run."""
    folder = DataFolder(data_dir, service_account())
    process = services.launch(Postgres(folder), *services.options(services.NOT_DURABLE))
    try:
        address = {"host": str(run_dir(data_dir)), "user": "observatory", "dbname": "observatory"}
        with psycopg.connect(**address, autocommit=True, options="-c timezone=UTC") as connection:
            yield connection
    finally:
        services.end(process)


@pytest.fixture
def target() -> Iterator[Path]:
    """A data folder that does not exist yet, which PostgreSQL's account can reach."""
    parent = Path(tempfile.mkdtemp(prefix="observatory-restored-", dir="/tmp"))
    parent.chmod(0o755)
    yield parent / "data"
    shutil.rmtree(parent)


@pytest.fixture
def recorded(observed: Observed, world: World) -> Iterator[str]:
    """A recorded cluster, a person with a password, a link, a channel, a file. Returns the link's token."""
    owner = world.people["owner"]
    owner.set_password(PASSWORD)
    owner.save()
    ready_made.make()  # as migrations do, but not those of the tests
    link = make_link(Permalink(run=observed.run, audience=Permalink.Audience.ANYONE), owner)
    Channel.objects.create(name="pager", kind="webhook", secret=encrypt("https://hooks.example.org/s3cr3t"))
    file = Path(settings.DATA_DIR) / "exchange" / "7"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"an export")
    yield shown(link.secret)
    file.unlink()


def keep(backup: Path, snapshot: Path, token: str, tables: Tables) -> None:
    """Keeps a backup for tests/runtime/test_upgrades.py, with what later versions have to find in it."""
    shutil.copy(backup, snapshot)
    snapshot.chmod(0o644)
    rows = {name: number for name, (number, _) in tables.items()}
    snapshot.with_suffix(".json").write_text(json.dumps({"token": token, "rows": rows}, indent=1) + "\n")


def restore(path: Path, target: Path, *options: str) -> Any:
    return manage("restore", str(path), "--data-dir", str(target), *options)


def test_a_restored_observatory_is_the_one_that_was_backed_up(
    recorded: str, target: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.backup", tmp_path / "second.backup"
    call_command("backup", first)
    with connect() as connection:
        before = contents(connection)
    assert before["span"][0] > 0
    if snapshot := os.environ.get("OBSERVATORY_TESTS_SNAPSHOT"):  # `make snapshot`
        keep(first, Path(snapshot), recorded, before)

    done = restore(first, target)
    assert done.returncode == 0, done.stderr
    assert "database: 100 %" in done.stderr

    # everything is the same, and works
    assert (target / "secret_key").read_text() == settings.SECRET_KEY
    assert (target / "exchange" / "7").read_bytes() == b"an export"
    with running(target) as connection:
        assert contents(connection) == before
        visit = manage(
            *("shell", "--no-imports", "--command", VISIT.format(password=PASSWORD, token=recorded)),
            OBSERVATORY_DATA_DIR=str(target),
            REDIS_URL=os.environ["REDIS_URL"],
            OBSERVATORY_ALLOWED_HOSTS="testserver",
        )
        assert visit.returncode == 0, visit.stderr
        assert visit.stdout.splitlines() == [
            "302 /clusters/ 200",
            "200 404",
            "https://hooks.example.org/s3cr3t",
        ]
        connection.execute("DELETE FROM alerts_channel")
        changed = contents(connection)

    # it is not overwritten by mistake
    refused = restore(first, target)
    assert "there is an Observatory already" in refused.stderr
    folder = DataFolder(target, service_account())
    folder.lock()
    try:
        assert "is in use by process" in restore(first, target, "--replace").stderr
    finally:
        folder.unlock()
    with running(target) as connection:
        assert contents(connection) == changed

    # a database that does not run can be backed up, too, and be replaced
    assert manage("backup", str(second), "--data-dir", str(target)).returncode == 0
    replaced = restore(first, target, "--replace")
    assert replaced.returncode == 0, replaced.stderr
    with running(target) as connection:
        after = contents(connection)
        assert {name: after[name] for name in before} == before
        databases = connection.execute("SELECT datname FROM pg_database WHERE datname ~ 'observatory'")
        assert databases.fetchall() == [("observatory",)]
