"""The programs that `up` runs: their command lines, and when each is ready."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable

from observatory.runtime.demo import READY
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.health import process_heartbeats as beats
from observatory.runtime.supervision import management
from observatory.runtime.supervision.options import Options
from observatory.runtime.supervision.program import Program, Stage
from observatory.runtime.supervision.subprocesses import python


def migration() -> Program:
    """Applies the migrations and ends."""
    command = management.command("migrate", "--skip-checks", "--verbosity", "0")
    return Program("migrate", command, lambda: False, restarts=False, settings={})


def static_files() -> Program:
    """Collects the static files and ends. Not a fork: the library that bundles them has threads."""
    command = management.command("collectstatic", "--noinput", "--verbosity", "0")
    return Program("static", command, lambda: False, restarts=False)


def web(options: Options) -> Program:
    command = [
        *python("uvicorn", "observatory.config.asgi:application"),
        *("--host", options.host, "--port", str(options.port)),
        # asgi.py reads the headers of trusted proxies, and of nobody else
        "--no-proxy-headers",
        *("--http", "observatory.config.http.protocol:HttpProtocol"),
        *("--no-access-log", "--timeout-graceful-shutdown", "5", "--ws-max-size", "65536"),
        # each frame would be compressed again for each page
        *("--ws-per-message-deflate", "false"),
    ]
    hosts = {"ALLOWED_HOSTS": sorted(options.allowed_hosts)}
    return Program("web", command, lambda: _answers(f"{options.local_url}/readyz"), settings=hosts)


def collector() -> Program:
    return _reporting("collector", management.command("collect"), beats.collects)


def worker(options: Options) -> Program:
    # threads, because the database does the work, and a single process is stopped reliably
    return _worker_program("worker", _celery_worker("celery@%h", 4, "--background"), options)


def alerts(folder: DataFolder, options: Options) -> Program:
    """A separate worker for alerts, so that exports, imports and tiles do not delay them. It runs beat."""
    command = _celery_worker("alerts@%h", 6, "--queues", "alerts")
    schedule = str(folder.path / "beat-schedule")
    return _worker_program("alerts", command, options, BEAT_SCHEDULE_FILE=schedule)


def demo(folder: DataFolder, options: Options, token: str) -> Program:
    """Ready when its cluster works. `token`: of the cluster's agent."""
    demo_folder = folder.path / "demo"
    (demo_folder / READY).unlink(missing_ok=True)
    arguments = ["--folder", str(demo_folder), "--url", options.local_url]
    command = python("observatory.runtime.demo", *arguments, *(["--once"] if options.demo_once else []))
    is_ready = (demo_folder / READY).exists
    return Program(
        "demo",
        command,
        is_ready,
        stop_timeout=30.0,
        restarts=not options.demo_once,
        stage=Stage.DEMO,
        environment={"OBSERVATORY_TOKEN": token},
    )


def _celery_worker(name: str, threads: int, *options: str) -> list[str]:
    return python("observatory.config.celery_worker", name, str(threads), *options)


def _worker_program(name: str, command: list[str], options: Options, **settings: str) -> Program:
    """One of Celery's workers, which reports itself as ready (observatory/runtime/tasks.py)."""
    program = _reporting(name, command, beats.is_ready)
    program.settings = {"PUBLIC_URL": options.public_url, **settings}  # the URL for links in notifications
    return program


def _reporting(name: str, command: list[str], is_ready: Callable[[int], bool]) -> Program:
    """A fork that reports its process id when it is ready."""
    program = Program(name, command, lambda: False, stop_timeout=20.0, settings={})
    program.is_ready = lambda: program.process is not None and is_ready(program.process.pid or 0)
    return program


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=3) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
