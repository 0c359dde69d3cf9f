"""Debian's nginx, in front of a scheduler that asks for credentials, or of Observatory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.collect.dask_processes import Scheduler, free_port
from tests.support.certificates import Authority
from tests.support.debian_servers import Process, listens, program

PASSWORD = "p4ss, wörd"
TOKEN = "t0ken-0f-the-proxy"
KEY = "k3y-0f-the-proxy"
WAYS = {
    "basic": 'auth_basic "closed"; auth_basic_user_file {folder}/passwords;',
    "token": 'if ($http_authorization != "Bearer {token}") {{ return 401; }}',
    "headers": 'if ($http_x_api_key != "{key}") {{ return 403; }}',
    "tls": """ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
        ssl_client_certificate {folder}/ca.pem; ssl_verify_client on;
        if ($http_authorization != "Bearer {token}") {{ return 401; }}""",
}
SERVER = """
    server {{
        listen 127.0.0.1:{port}{tls};
        {way}
        location / {{
            proxy_pass http://127.0.0.1:{scheduler};
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $http_connection;
        }}
        # as jupyter-server-proxy does in the scheduler
        location ~ ^/proxy/(\\d+)/([^/]+)(/.*)$ {{ proxy_pass http://$2:$1$3; }}
    }}"""
CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""


@dataclass
class Proxy:
    """nginx, with a port for each way to be let in."""

    folder: Path
    authority: Authority = field(default_factory=Authority)
    ports: dict[str, int] = field(default_factory=lambda: {way: free_port() for way in WAYS})

    def url(self, way: str) -> str:
        return f"{'https' if way == 'tls' else 'http'}://127.0.0.1:{self.ports[way]}"

    def credentials(self, way: str) -> dict[str, str]:
        """The fields of the credentials that let in."""
        if way == "tls":
            certificate, key = self.authority.issue("collector")
            return {"token": TOKEN, "ca": self.authority.pem, "certificate": certificate, "key": key}
        return {
            "basic": {"username": "ann", "password": PASSWORD},
            "token": {"token": TOKEN},
            "headers": {"headers": f"X-Other: 1\nX-Api-Key: {KEY}"},
        }[way]

    def configure(self, scheduler: int) -> Path:
        """Writes the configuration and what it names."""
        certificate, key = self.authority.issue("127.0.0.1")
        files = {"server.pem": certificate, "server.key": key, "ca.pem": self.authority.pem}
        files["passwords"] = f"ann:{{PLAIN}}{PASSWORD}\n"
        for name, text in files.items():
            (self.folder / name).write_text(text)
        values = {"folder": self.folder, "token": TOKEN, "key": KEY}
        servers = "".join(
            SERVER.format(
                port=self.ports[way],
                tls=" ssl" if way == "tls" else "",
                way=text.format(**values),
                scheduler=scheduler,
            )
            for way, text in WAYS.items()
        )
        path = self.folder / "nginx.conf"
        path.write_text(CONFIGURATION.format(folder=self.folder, servers=servers))
        return path

    def is_ready(self) -> bool:
        try:
            urlopen(self.url("basic"), timeout=5).close()
        except HTTPError:
            return True
        except OSError:
            return False
        return True


@contextmanager
def behind_nginx(scheduler: Scheduler, folder: Path) -> Iterator[Proxy]:
    proxy = Proxy(folder)
    with _running(proxy.configure(scheduler.http_port), proxy.is_ready):
        yield proxy


@contextmanager
def in_front(folder: Path, port: int, locations: str, upstream: str = "") -> Iterator[None]:
    """nginx on a port, with these `location` blocks, which may pass requests to an `upstream` block."""
    path = folder / "nginx.conf"
    server = f"{upstream} server {{ listen 127.0.0.1:{port}; {locations} }}"
    path.write_text(CONFIGURATION.format(folder=folder, servers=server))
    with _running(path, lambda: listens(port)):
        yield


@contextmanager
def _running(configuration: Path, is_ready: Callable[[], bool]) -> Iterator[None]:
    folder = configuration.parent
    log = folder / "error.log"
    command = [program("nginx", "nginx-light"), "-p", str(folder), "-e", str(log), "-c", str(configuration)]
    process = Process(command, log, is_ready)
    try:
        process.start()
        process.wait_until_ready(60)
        yield
    finally:
        process.kill()
