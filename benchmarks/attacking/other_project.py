"""The project that is not attacked: its pages are opened and its agent sends a batch each second."""

from __future__ import annotations

import http.client
import threading
import time
from collections import defaultdict
from urllib.parse import urlsplit

from benchmarks.attacking.bodies import Agent

TIMEOUT = 120.0
TASKS = 100
"""of a batch"""


class Pages(threading.Thread):
    """Opens the pages one after the other, with a pause after each."""

    def __init__(self, url: str, session: str, paths: dict[str, list[str]], pause: float) -> None:
        """`paths`: the requests of each page, by its name."""
        super().__init__(daemon=True)
        self.netloc, self.headers = urlsplit(url).netloc, {"Cookie": f"sessionid={session}"}
        self.paths, self.pause = paths, pause
        self.times: defaultdict[str, list[float]] = defaultdict(list)
        """seconds until a page has all its answers"""
        self.failures: list[str] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            for name, paths in self.paths.items():
                began = time.monotonic()
                for path in paths:
                    self._get(path)
                self.times[name].append(time.monotonic() - began)
                if self.stopping.wait(self.pause):
                    return

    def stop(self) -> None:
        self.stopping.set()
        self.join()

    def _get(self, path: str) -> None:
        connection = http.client.HTTPConnection(self.netloc, timeout=TIMEOUT)
        try:
            connection.request("GET", path.replace("NOW", f"{time.time():.3f}"), headers=self.headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status >= 400:
                self.failures.append(f"{answer.status} {path}")
        except OSError as error:
            self.failures.append(f"{type(error).__name__} {path}")
        finally:
            connection.close()


class Reporting(threading.Thread):
    """Sends the work of a cluster, and measures how long each batch waits for its acknowledgement."""

    def __init__(self, url: str, token: str, agent: Agent) -> None:
        super().__init__(daemon=True)
        self.netloc, self.headers = urlsplit(url).netloc, {"Authorization": f"Bearer {token}"}
        self.agent = agent
        self.times: list[float] = []
        self.failures: list[str] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.wait(1.0):
            self.times.append(self.send(self.agent.work(TASKS)))

    def stop(self) -> None:
        self.stopping.set()
        self.join()

    def send(self, body: bytes) -> float:
        """Seconds until the batch is acknowledged; it is sent again until it is, as by an agent."""
        began = time.monotonic()
        while True:
            connection = http.client.HTTPConnection(self.netloc, timeout=TIMEOUT)
            try:
                connection.request("POST", "/api/v1/ingest", body, self.headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    return time.monotonic() - began
                self.failures.append(str(answer.status))
            except OSError as error:
                self.failures.append(type(error).__name__)
            finally:
                connection.close()
            time.sleep(0.2)
