"""Everything on one machine: the services, migrations, web, collector, Celery, the demo; one supervisor."""

from __future__ import annotations

import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from observatory.config.static.version import is_collected
from observatory.runtime.demo import READY
from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.folder import DataFolder
from observatory.runtime.errors import RuntimeFault
from observatory.runtime.health import heartbeats as beats
from observatory.runtime.supervision import management
from observatory.runtime.supervision.children import python
from observatory.runtime.supervision.logs import Logs
from observatory.runtime.supervision.program import Program
from observatory.runtime.supervision.services import check_given, embedded_services
from observatory.runtime.supervision.supervisor import Supervisor

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
"""the addresses that stand for all of this machine's, and where to ask them from itself"""


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
        return settings.PUBLIC_URL or f"http://{_connectable(self.host)}:{self.port}"


def up(options: Options, say: Callable[[str], object]) -> None:
    """Runs until SIGINT or SIGTERM; says one line, when all is ready. Raises RuntimeFault."""
    check_port(options.host, options.port)
    check_given()
    folder = DataFolder(Path(settings.DATA_DIR), service_account())
    folder.prepare()
    folder.lock()
    supervisor = Supervisor(Logs(folder.logs, options.verbose))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: setattr(supervisor, "stopping", True))
    try:
        say(f"Dask Observatory is ready: {start(supervisor, folder, options)}")
        supervisor.watch()
    except KeyboardInterrupt:
        pass
    finally:
        supervisor.stop()
        folder.unlock()


def start(supervisor: Supervisor, folder: DataFolder, options: Options) -> str:
    """Starts all in order; what doesn't depend on each other starts at the same time. Returns the link."""
    for service in embedded_services(folder):
        supervisor.start(service)
    supervisor.run(once("migrate", "migrate", "--verbosity", "0"))
    programs = [web(options), collector(), worker(options), alerts(options), beat(folder)]
    if options.demo or options.demo_once:
        programs.append(demo(folder, options))
    for program in programs:
        supervisor.launch(program)
    link = sign_in_link(options.url)
    for program in programs:
        supervisor.wait_until_ready(program, 120)
    if not is_collected(Path(settings.STATIC_ROOT), settings.STATIC_VERSION):
        # compressing takes long; the web process serves the files as they are until its next start
        supervisor.launch(once("static", "collectstatic", "--noinput", "--verbosity", "0"))
    return link


def once(name: str, *arguments: str) -> Program:
    """A management command that comes to an end."""
    return Program(name, management.command(*arguments), lambda: False, restarts=False)


def web(options: Options) -> Program:
    host = _connectable(options.host)
    ready = f"http://{host}:{options.port}/readyz"
    command = [
        *python("uvicorn", "observatory.config.asgi:application"),
        *("--host", options.host, "--port", str(options.port)),
        *("--no-access-log", "--timeout-graceful-shutdown", "5", "--ws-max-size", "65536"),
        # it would compress each frame for each page anew
        *("--ws-per-message-deflate", "false"),
    ]
    hosts = " ".join({*settings.ALLOWED_HOSTS, host, *_names_of(options.host)})
    return Program("web", command, lambda: _answers(ready), environment={"OBSERVATORY_ALLOWED_HOSTS": hosts})


def collector() -> Program:
    return _tells_its_process("collector", management.command("collect"), beats.collects)


def worker(options: Options) -> Program:
    # threads, not processes: the work is the database's, and one process is stopped more surely than several
    command = [*_celery("worker"), "--pool", "threads", "--concurrency", "4"]
    return _knows_its_address(_says_ready("worker", command), options)


def alerts(options: Options) -> Program:
    """A worker that exports, imports and tiles can't keep from evaluating rules and telling of alerts."""
    command = [*_celery("worker"), "--queues", "alerts", "--pool", "threads", "--concurrency", "6"]
    program = _says_ready("alerts", [*command, "--hostname", "alerts@%h"], "worker")
    return _knows_its_address(program, options)


def beat(folder: DataFolder) -> Program:
    schedule = folder.path / "beat-schedule"
    return _says_ready("beat", [*_celery("beat"), "--schedule", str(schedule), "--pidfile", ""])


def demo(folder: DataFolder, options: Options) -> Program:
    """Ready when its cluster works."""
    kept = folder.path / "demo"
    (kept / READY).unlink(missing_ok=True)
    once = ["--once"] if options.demo_once else []
    url = f"http://{_connectable(options.host)}:{options.port}"
    command = python("observatory.runtime.demo", "--folder", str(kept), "--url", url, *once)
    return Program("demo", command, (kept / READY).exists, restarts=not once, patience=30.0)


def sign_in_link(base_url: str) -> str:
    return management.output("sign_in_link", base_url)


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


def _celery(command: str) -> list[str]:
    return python("celery", "--app", "observatory.config.celery", "--quiet", command)


def _knows_its_address(program: Program, options: Options) -> Program:
    """For the links in what people are told of alerts."""
    program.environment = {"OBSERVATORY_PUBLIC_URL": options.url}
    return program


def _connectable(host: str) -> str:
    """What stands in a URL for the address `host` that is listened on."""
    return EVERYWHERE.get(host) or (f"[{host}]" if ":" in host else host)


def _names_of(host: str) -> list[str]:
    """What this machine is called, where it listens to others on every address."""
    return [socket.gethostname(), socket.getfqdn()] if host in EVERYWHERE else []


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=3) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _says_ready(name: str, command: list[str], kind: str = "") -> Program:
    """A Celery process, which says itself when it is ready (observatory.runtime.tasks), as `kind`."""
    return _tells_its_process(name, command, lambda process: beats.is_ready(kind or name, process))


def _tells_its_process(name: str, command: list[str], is_ready: Callable[[int], bool]) -> Program:
    program = Program(name, command, lambda: False, patience=20.0)
    program.is_ready = lambda: program.process is not None and is_ready(program.process.pid)
    return program
