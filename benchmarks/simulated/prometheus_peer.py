"""Debian's Prometheus scrapes the same endpoints: what a program spends that does only this and stores it."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import psutil

from benchmarks.measuring.processor import cpu_seconds
from tests.browser.observatory import free_port

SETTLING = 20.0
"""seconds until each endpoint was scraped"""


def seconds_per_scrape(
    folder: Path, urls: Sequence[str], interval: float, seconds: float
) -> dict[str, float] | None:
    """Let Prometheus scrape schedulers and their workers; returns what it spends. None: it isn't installed.

    `cpu` is seconds a scrape, `cores` those that it uses, `scraped` the share of the endpoints that answer.
    """
    program = shutil.which("prometheus")
    if program is None:
        return None
    folder.mkdir(parents=True)
    endpoints = sorted(set(endpoints_of(urls)))
    config: dict[str, Any] = {
        "global": {"scrape_interval": f"{interval:g}s", "scrape_timeout": f"{interval:g}s"},
        "scrape_configs": [{"job_name": "dask", "static_configs": [{"targets": endpoints}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    process = subprocess.Popen(
        [
            program,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        ]
    )
    try:
        time.sleep(SETTLING + interval)
        began, before = time.monotonic(), cpu_seconds(psutil.Process(process.pid))
        time.sleep(seconds)
        used = cpu_seconds(psutil.Process(process.pid)) - before
        elapsed = time.monotonic() - began
        with urlopen(f"http://127.0.0.1:{port}/api/v1/query?query=sum(up)") as answer:
            [result] = json.load(answer)["data"]["result"]
        scraped = float(result["value"][1]) / len(endpoints)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)
    scrapes = len(endpoints) * elapsed / interval
    return {"cpu": used / scrapes, "cores": used / elapsed, "scraped": scraped}


def endpoints_of(urls: Iterable[str]) -> Iterator[str]:
    """The schedulers, and the workers that they name, as host:port."""
    for url in urls:
        yield urlsplit(url).netloc
        with urlopen(f"{url}/json/identity.json") as answer:
            for worker in json.load(answer)["workers"].values():
                yield f"{worker['host']}:{worker['services']['dashboard']}"
