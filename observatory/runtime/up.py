"""Everything on one machine: the services, migrations, web, collector, Celery, the demo; one supervisor."""

from __future__ import annotations

import logging
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from observatory.runtime import beats
from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.folder import DataFolder
from observatory.runtime.errors import RuntimeFault
from observatory.runtime.program import Program
from observatory.runtime.services import embedded_services
from observatory.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    host: str = "127.0.0.1"
    port: int = 8000
    demo: bool = False
    demo_once: bool = False
    verbose: bool = False

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        return settings.PUBLIC_URL or f"http://{host}:{self.port}"


def up(options: Options, say: Callable[[str], object]) -> None:
    """Runs until SIGINT or SIGTERM; says one line, when all is ready. Raises RuntimeFault."""
    folder = DataFolder(Path(settings.DATA_DIR), service_account())
    folder.prepare()
    folder.lock()
    check_port(options.host, options.port)
    supervisor = Supervisor(None if options.verbose else folder.logs)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: setattr(supervisor, "stopping", True))
    try:
        start(supervisor, folder, options)
        say(f"Dask Observatory is ready: {sign_in_link(options.url)}")
        supervisor.watch()
    except KeyboardInterrupt:
        pass
    finally:
        supervisor.stop()
        folder.unlock()


def start(supervisor: Supervisor, folder: DataFolder, options: Options) -> None:
    """Starts all in order; what doesn't depend on each other starts at the same time."""
    for service in embedded_services(folder):
        supervisor.start(service)
    manage("migrate", "--verbosity", "0")
    manage("collectstatic", "--noinput", "--verbosity", "0")
    programs = [web(options), collector(), worker(), beat(folder)]
    for program in programs:
        supervisor.launch(program)
    for program in programs:
        supervisor.wait_until_ready(program)
    if options.demo or options.demo_once:
        supervisor.launch(demo(options.demo_once))


def web(options: Options) -> Program:
    ready = f"http://{_connectable(options.host)}:{options.port}/readyz"
    command = [
        *(sys.executable, "-m", "uvicorn", "observatory.config.asgi:application"),
        *("--host", options.host, "--port", str(options.port)),
        *("--no-access-log", "--timeout-graceful-shutdown", "5", "--ws-max-size", "65536"),
    ]
    hosts = " ".join(
        {*settings.ALLOWED_HOSTS, *([] if options.host in ("0.0.0.0", "::") else [options.host])}
    )
    return Program("web", command, lambda: _answers(ready), environment={"OBSERVATORY_ALLOWED_HOSTS": hosts})


def collector() -> Program:
    return Program("collector", _manage("collect"), beats.collects, patience=20)


def worker() -> Program:
    # threads, not processes: the work is the database's, and one process is stopped more surely than several
    return _says_ready("worker", [*_celery("worker"), "--pool", "threads", "--concurrency", "4"])


def beat(folder: DataFolder) -> Program:
    schedule = folder.path / "beat-schedule"
    return _says_ready("beat", [*_celery("beat"), "--schedule", str(schedule), "--pidfile", ""])


def demo(once: bool) -> Program:
    command = [sys.executable, "-m", "observatory.runtime.demo", *(["--once"] if once else [])]
    return Program("demo", command, lambda: True, restarts=not once, patience=20)


def sign_in_link(base_url: str) -> str:
    return manage("sign_in_link", base_url).strip()


def manage(*arguments: str) -> str:
    """What a management command prints. In a process of its own: it reads the settings that are true now."""
    done = subprocess.run(_manage(*arguments), capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise RuntimeFault(f"`manage.py {arguments[0]}` failed: {lines[-1]}")
    return done.stdout


def check_port(host: str, port: int) -> None:
    """Raises RuntimeFault when the address can't be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except (OSError, OverflowError) as error:
            raise RuntimeFault(
                f"{host}:{port} can't be listened on ({getattr(error, 'strerror', None) or error}): "
                "choose another with --port or --host"
            ) from None


def _manage(*arguments: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


def _celery(command: str) -> list[str]:
    return [sys.executable, "-m", "celery", "--app", "observatory.config.celery", "--quiet", command]


def _connectable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=3) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _says_ready(name: str, command: list[str]) -> Program:
    """A Celery process, which says itself when it is ready (observatory.runtime.tasks)."""
    program = Program(name, command, lambda: False)
    program.is_ready = lambda: program.process is not None and beats.is_ready(name, program.process.pid)
    return program
