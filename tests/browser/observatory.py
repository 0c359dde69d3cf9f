"""Runs a complete Observatory: `dask-observatory up` with a temporary data folder."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import psycopg
from playwright.sync_api import Page

from observatory.base.environment import run_dir

ROOT = Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"https?://\S+")
SERVICES = ("DATABASE_URL", "REDIS_URL", "OBSERVATORY_TEST_DATABASE_URL")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Observatory:
    """An Observatory, started and stopped from the command line."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {k: v for k, v in os.environ.items() if k not in SERVICES}
        self.environment["OBSERVATORY_DATA_DIR"] = str(data_dir)
        self.sign_in_link = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> None:
        """Start it and wait until `up` has printed its line."""
        self._process = subprocess.Popen(
            [
                sys.executable,
                "manage.py",
                "up",
                "--data-dir",
                str(self.data_dir),
                "--port",
                str(self.port),
                *options,
            ],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = LINK.search(line)
            if found:
                self.sign_in_link = found.group().rstrip(".")
                return
        raise AssertionError(f"`up` ended with {self._process.wait()} before it printed a link")

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(120)

    def watch(self, url: str, name: str) -> None:
        self.manage("watch", url, "--name", name)

    def manage(self, *arguments: str) -> str:
        finished = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    def sign_in(self, page: Page) -> None:
        page.goto(self.sign_in_link)
        button = page.get_by_role("button", name="Sign in")
        if button.count():
            button.click()
        page.wait_for_url(lambda url: "sign-in" not in url)

    def kill(self) -> None:
        """Kill all of its processes with SIGKILL, as the kernel does when memory is short."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def child(self, name: str) -> psutil.Process:
        """Return the program of `up` with `name` in its command line."""
        assert self._process is not None
        children = psutil.Process(self._process.pid).children()
        [child] = [child for child in children if name in " ".join(child.cmdline())]
        return child

    def kill_child(self, name: str) -> None:
        self.child(name).kill()

    def query(self, statement: str) -> object:
        """Run a query on the embedded PostgreSQL; returns its only value."""
        [row] = self.rows(statement)
        return row[0]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query on the embedded PostgreSQL; returns its rows."""
        folder = str(run_dir(self.data_dir))
        with psycopg.connect(host=folder, user="observatory", dbname="observatory") as connection:
            return connection.execute(statement.encode()).fetchall()
