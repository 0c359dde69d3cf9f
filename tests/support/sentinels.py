"""Debian's Redis: a master with a replica and three Sentinels, over TLS and with passwords."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote

import redis

from tests.collect.dask_processes import free_port
from tests.support.certificates import Authority
from tests.support.debian_servers import Process, program

SERVICE = "Observatory"
PASSWORD = "p4ss, wörd/of:redis"
SENTINEL_PASSWORD = "p4ss of the Sentinels"
TLS = """port 0
tls-port {port}
tls-cert-file {folder}/server.pem
tls-key-file {folder}/server.key
tls-ca-cert-file {folder}/ca.pem
tls-auth-clients no
tls-replication yes
bind 127.0.0.1
dir {own}
"""
SERVER = (
    TLS
    + """requirepass "{password}"
masterauth "{password}"
save ""
repl-diskless-sync-delay 0
"""
)
SENTINEL = (
    TLS
    + """requirepass "{sentinel_password}"
sentinel sentinel-pass "{sentinel_password}"
sentinel monitor {service} 127.0.0.1 {master} 2
sentinel auth-pass {service} "{password}"
sentinel down-after-milliseconds {service} 3000
sentinel failover-timeout {service} 10000
"""
)


@dataclass
class Sentinels:
    """Two servers and three Sentinels in `folder`."""

    folder: Path
    servers: list[int] = field(default_factory=lambda: [free_port() for _ in range(2)])
    sentinels: list[int] = field(default_factory=lambda: [free_port() for _ in range(3)])

    def __post_init__(self) -> None:
        authority = Authority()
        certificate, key = authority.issue("127.0.0.1")
        files = {"server.pem": certificate, "server.key": key, "ca.pem": authority.pem}
        for name, text in files.items():
            (self.folder / name).write_text(text)
        server = program("redis-server", "redis-server")
        master, replica = self.servers
        self.processes = {
            master: self._process(server, master, SERVER),
            replica: self._process(server, replica, SERVER, "--replicaof", *self._master),
        }
        for port in self.sentinels:
            self.processes[port] = self._process(server, port, SENTINEL, "--sentinel")

    @property
    def environment(self) -> dict[str, str]:
        """The settings of an Observatory that uses it."""
        url = f"rediss://:{quote(PASSWORD, safe='')}@{SERVICE}/0?ssl_ca_certs={self.folder}/ca.pem"
        return {
            "REDIS_URL": url,
            "REDIS_SENTINELS": " ".join(f"127.0.0.1:{port}" for port in self.sentinels),
            "REDIS_SENTINEL_PASSWORD": SENTINEL_PASSWORD,
        }

    def start(self) -> None:
        for process in self.processes.values():
            process.start()
        for process in self.processes.values():
            process.wait_until_ready()
        self._wait(self._is_replicated, "no replica has the master's data")
        for port in self.sentinels:
            self._wait(partial(self._knows_all, port), "a Sentinel doesn't know the others")

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()

    def master(self) -> int:
        """Its port, as most Sentinels name it."""
        named = [self.ask(port).sentinel_get_master_addr_by_name(SERVICE) for port in self.sentinels]
        ports = [int(address[1]) for address in named if address]
        return max(set(ports), key=ports.count)

    def fail_over(self) -> None:
        """Kills the master, waits until the replica is one, and starts the killed one as its replica."""
        killed = self.master()
        self.processes[killed].kill()
        self._wait(lambda: self._has_taken_over(killed), "no replica became the master")
        self.processes[killed].start()
        self.processes[killed].wait_until_ready()

    def ask(self, port: int) -> redis.Redis:
        password = SENTINEL_PASSWORD if port in self.sentinels else PASSWORD
        return redis.Redis(
            host="127.0.0.1",
            port=port,
            password=password,
            ssl=True,
            ssl_ca_certs=str(self.folder / "ca.pem"),
            socket_timeout=5,
        )

    @property
    def _master(self) -> tuple[str, str]:
        return "127.0.0.1", str(self.servers[0])

    def _process(self, server: str, port: int, configuration: str, *options: str) -> Process:
        own = self.folder / str(port)
        own.mkdir()
        path = own / "redis.conf"
        values = {"password": PASSWORD, "sentinel_password": SENTINEL_PASSWORD, "service": SERVICE}
        path.write_text(
            configuration.format(port=port, folder=self.folder, own=own, master=self._master[1], **values)
        )
        return Process([server, str(path), *options], own / "log", lambda: self._answers(port))

    def _answers(self, port: int) -> bool:
        try:
            return bool(self.ask(port).ping())
        except redis.RedisError:
            return False

    def _is_replicated(self) -> bool:
        replicated = self.ask(self.servers[1]).info("replication")
        return replicated["role"] == "slave" and replicated["master_link_status"] == "up"

    def _knows_all(self, port: int) -> bool:
        state = self.ask(port).sentinel_master(SERVICE)
        return bool(state["num-other-sentinels"] == 2 and state["num-slaves"] == 1)

    def _has_taken_over(self, killed: int) -> bool:
        master = self.master()
        return master != killed and self.ask(master).info("replication")["role"] == "master"

    @staticmethod
    def _wait(is_so: Callable[[], bool], why: str) -> None:
        deadline = time.monotonic() + 180
        while not is_so():
            assert time.monotonic() < deadline, why
            time.sleep(0.2)


@contextmanager
def sentinels(folder: Path) -> Iterator[Sentinels]:
    found = Sentinels(folder)
    try:
        found.start()
        yield found
    finally:
        found.stop()
