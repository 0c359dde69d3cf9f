"""Debian's pgbouncer in transaction mode, in front of a PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import HERE
from tests.collect.dask_processes import free_port
from tests.support.debian_servers import Process, listens, program

PASSWORD = "p4ss of the pooler"
CONFIGURATION = """[databases]
{name} = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = users.txt
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
server_login_retry = 1
logfile = log
"""


@contextmanager
def pooler(folder: Path, database: Mapping[str, Any], size: int = 20) -> Iterator[tuple[Process, str]]:
    """Yields its process and the URL of `database` (libpq's parameters) through at most `size` sessions.

    It runs as the services' account, which alone reaches the embedded PostgreSQL's socket.
    """
    command = [program("pgbouncer", "pgbouncer"), "--quiet", "pgbouncer.ini"]
    given = {name: str(database[name]) for name in ("host", "port", "user", "password") if database.get(name)}
    host = given.get("host", "")
    own = (Path(host) if host.startswith("/") else folder) / "pgbouncer"
    own.mkdir()
    if host.startswith("/"):
        given["host"] = f"{HERE}/.."
    name, port = str(database["dbname"]), free_port()
    user = given.setdefault("user", "observatory")
    server = " ".join(f"{key}='{value}'" for key, value in {**given, "dbname": name}.items())
    files = {
        "pgbouncer.ini": CONFIGURATION.format(name=name, server=server, port=port, size=size),
        "users.txt": f'"{user}" "{PASSWORD}"\n',
        "log": "",
    }
    account = service_account()
    account.own(own)
    for file, text in files.items():
        (own / file).write_text(text)
        account.own(own / file)
    process = Process(command, own / "log", lambda: listens(port), cwd=own, **account.process_options())
    try:
        process.start()
        process.wait_until_ready()
        yield process, f"postgresql://{user}:{quote(PASSWORD)}@127.0.0.1:{port}/{name}"
    finally:
        process.kill()
        shutil.rmtree(own)
