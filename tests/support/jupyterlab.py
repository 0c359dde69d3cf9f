"""A real JupyterLab with Dask's extension, and an Observatory behind HTTPS that it may show in frames.

It needs an environment of its own (`pip install jupyterlab dask-labextension anywidget`), of which the
variable JUPYTERLAB names `jupyter-lab`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import pytest
from ipykernel.kernelspec import install as install_kernel
from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.browser.observatory import Observatory, free_port
from tests.support.certificates import Authority
from tests.support.debian_servers import Process
from tests.support.nginx import in_front

PROGRAM = "JUPYTERLAB"
TOKEN = "of-the-tests"
NAME = "work.ipynb"
SETTINGS: dict[str, dict[str, Any]] = {
    "themes": {"adaptive-theme": True},  # that of the browser
    "notification": {"fetchNews": "false", "checkForUpdates": False},
}
KERNEL = "observatory-tests"
BEGUN, DONE = re.compile(r"\[(\*|\d+)\]"), re.compile(r"\[\d+\]")
"""the prompt of a cell that is or has been executed, and of one that has been"""
BEGINS_WITHIN = 30_000
"""ms after the keys were pressed"""
MOST_PRESSES = 5
WITH_KERNEL = ", ".join(f".jp-Notebook-ExecutionIndicator[data-status={state}]" for state in ("idle", "busy"))
CERTIFICATES = "SSL_CERT_FILE"
OTHERS = ("JUPYTER", "DJANGO", "PYTHONPATH", CERTIFICATES)
"""beginnings of variables that JupyterLab doesn't get from the tests"""
STARTING = 300.0
"""seconds"""
ACCESS_TOKEN = (
    "from django.contrib.auth.models import User; from observatory.clusters.tokens import access_tokens; "
    "print(access_tokens.make(User.objects.get(), 'jupyter', None)[1])"
)
PROXIED = """
    listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
    location / {{
        proxy_pass {url};
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $http_connection;
    }}"""


def program() -> str:
    """Its `jupyter-lab`; skips the test where there is none with the extension."""
    found = os.environ.get(PROGRAM) or shutil.which("jupyter-lab")
    if not found:
        pytest.skip(f"JupyterLab isn't installed: set {PROGRAM} to a jupyter-lab (CONTRIBUTING.md)")
    extensions = Path(found).resolve().parent.parent / "share/jupyter/labextensions"
    for name in ("dask-labextension", "anywidget"):
        if not (extensions / name).exists():
            pytest.skip(f"{found} has no {name}: pip install {name} there")
    return found


@dataclass
class Secured:
    """An Observatory behind HTTPS."""

    url: str
    ca: Path
    """certificates to trust"""
    observatory: Observatory

    def sign_in(self, page: Page) -> None:
        self.observatory.sign_in(page)

    def ingest_token(self) -> str:
        return self.observatory.manage("ingest_token", "default").strip()

    def access_token(self) -> str:
        return self.observatory.manage("shell", "-v", "0", "-c", ACCESS_TOKEN).splitlines()[-1]


@contextmanager
def secured(observatory: Observatory, folder: Path, ancestors: str) -> Iterator[Secured]:
    """Starts an Observatory behind nginx, with a private certificate; `ancestors` may show it in frames."""
    folder.mkdir()
    authority, port = Authority(), free_port()
    certificate, key = authority.issue("127.0.0.1")
    for name, text in {"server.pem": certificate, "server.key": key, "ca.pem": authority.pem}.items():
        (folder / name).write_text(text)
    url = f"https://127.0.0.1:{port}"
    observatory.environment |= {"OBSERVATORY_PUBLIC_URL": url, "OBSERVATORY_FRAME_ANCESTORS": ancestors}
    with in_front(folder, free_port(), PROXIED.format(port=port, folder=folder, url=observatory.url)):
        observatory.start()
        yield Secured(url, folder / "ca.pem", observatory)


@contextmanager
def lab(folder: Path, port: int, cells: Sequence[str], variables: Mapping[str, str]) -> Iterator[str]:
    """The address of a notebook with these cells; its kernel is this Python, with `variables`.

    SSL_CERT_FILE is JupyterLab's, too.
    """
    work = folder / "work"
    work.mkdir(parents=True)
    of_kernel = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **variables}
    install_kernel(user=False, prefix=str(folder), kernel_name=KERNEL, env=of_kernel)
    settings = folder / "settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    for name, setting in SETTINGS.items():
        (settings / f"{name}.jupyterlab-settings").write_text(json.dumps(setting))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": KERNEL, "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, work / NAME)
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith(OTHERS)},
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PATH": str(folder / "share/jupyter"),
        **{f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")},
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        **{name: text for name, text in variables.items() if name == CERTIFICATES},
    }
    command = [program(), "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--notebook-dir={work}"]
    process = Process(command, folder / "lab.log", lambda: _answers(port), env=environment)
    process.start()
    try:
        process.wait_until_ready(STARTING)
        yield f"http://localhost:{port}/lab/tree/{NAME}?reset&token={TOKEN}"
    finally:
        process.kill()


def _answers(port: int) -> bool:
    try:
        urlopen(f"http://127.0.0.1:{port}/api", timeout=5).close()
    except (URLError, OSError):
        return False
    return True


def code_cell(page: Page, number: int) -> Locator:
    return page.locator(".jp-Notebook .jp-CodeCell").nth(number)


def run_cell(page: Page, number: int) -> None:
    """Runs a cell, once the kernel has done those before it.

    A notebook that was just opened has no kernel yet: JupyterLab then asks for one, or ignores the keys.
    """
    page.locator(".jp-Toolbar-kernelName").filter(has_text=KERNEL).wait_for()
    page.locator(WITH_KERNEL).first.wait_for()
    for before in range(number):
        code_cell(page, before).locator(".jp-InputPrompt").filter(has_text=DONE).wait_for()
    cell = code_cell(page, number)
    begun = cell.locator(".jp-InputPrompt").filter(has_text=BEGUN)
    for _ in range(MOST_PRESSES):
        cell.locator(".jp-InputArea-editor").click()
        page.keyboard.press("Shift+Enter")
        with suppress(PlaywrightTimeout):
            begun.wait_for(timeout=BEGINS_WITHIN)
            return
    begun.wait_for()
