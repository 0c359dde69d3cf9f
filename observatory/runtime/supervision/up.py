"""Runs everything on one machine: embedded services, migrations, web, collector, Celery, the demo."""

from __future__ import annotations

import errno
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings

from observatory.base.environment import secret_key
from observatory.base.static.version import is_collected
from observatory.runtime.embedded.account import NAME, service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.supervision import management, programs
from observatory.runtime.supervision.logs import Logs
from observatory.runtime.supervision.options import Options
from observatory.runtime.supervision.preloading import preload
from observatory.runtime.supervision.privileges import give_up_root, obstacle
from observatory.runtime.supervision.services import check_external, embedded_services
from observatory.runtime.supervision.supervisor import Supervisor

log = logging.getLogger(__name__)

DEMO_TIMELINE = "/clusters/newest/?name=demo"


def up(options: Options, say: Callable[[str], object], progress: Callable[[str], object]) -> None:
    """Run until SIGINT or SIGTERM. Raises StartupError.

    Calls `progress` with lines about the start, and `say` with one line when all is ready.
    """
    options.check_port()
    check_external()
    folder = DataFolder(Path(settings.DATA_DIR), service_account())
    try:
        folder.prepare()
        folder.lock()
        settings.SECRET_KEY = secret_key(folder.path)  # new on a first start
        progress(f"Starting Dask Observatory; its data and logs are in {folder.path}")
        if not folder.account.is_current:
            _give_up_root(folder, options)
        _run(folder, options, say, progress)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise folder.disk_full(str(error.strerror)) from None


def _give_up_root(folder: DataFolder, options: Options) -> None:
    """Become the account, or say why all but the database and Valkey stay root's."""
    if reason := obstacle(folder):
        log.warning(
            "everything but PostgreSQL and Valkey runs as root, because the user %s cannot run it: %s. "
            "Keep the data folder, Observatory and Python where that user can reach them, such as in /opt",
            NAME,
            reason,
        )
    else:
        give_up_root(folder, options.port)


def _run(
    folder: DataFolder,
    options: Options,
    say: Callable[[str], object],
    progress: Callable[[str], object],
) -> None:
    supervisor = Supervisor(Logs(folder.logs, options.verbose), progress)
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
    """Start all programs, independent ones at the same time. Returns the sign-in link."""
    for service in embedded_services(folder):
        supervisor.start(service)
    supervisor.run(programs.migration(), meanwhile=preload)
    started = [
        programs.web(options),
        programs.collector(),
        programs.worker(options),
        programs.alerts(folder, options),
    ]
    for program in started:
        supervisor.launch(program)
    link = management.forked_output("sign_in_link", options.public_url)
    if options.has_demo:
        demo = programs.demo(folder, options, management.forked_output("demo_token"))
        supervisor.launch(demo)
        started.append(demo)
        link = f"{link}?{urlencode({'next': settings.SUB_PATH + DEMO_TIMELINE})}"
    for program in started:
        supervisor.wait_until_ready(program, 120)
    if not is_collected(Path(settings.STATIC_ROOT), settings.STATIC_VERSION):
        # takes long; until it is done the web process compresses what it sends
        supervisor.launch(programs.static_files())
    return link
