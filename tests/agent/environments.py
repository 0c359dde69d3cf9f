"""Virtual environments with other versions of Python and distributed, created once per checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".environments"
UV = Path(sys.executable).with_name("uv")


@dataclass(frozen=True)
class Environment:
    python: str
    distributed: str

    @property
    def name(self) -> str:
        return f"{self.python}-{self.distributed}"

    def interpreter(self) -> Path:
        """Its Python, installed with nothing but distributed. Skips the test where that Python isn't here."""
        folder = FOLDER / self.name
        interpreter = folder / "bin/python"
        if (folder / "installed").exists():
            return interpreter
        found = self._find()
        if found is None:
            pytest.skip(f"there is no Python {self.python} on this machine")
        shutil.rmtree(folder, ignore_errors=True)
        self._uv("venv", "--quiet", "--python", found, str(folder))
        pinned = [f"distributed=={self.distributed}", f"dask=={self.distributed}"]
        self._uv("pip", "install", "--quiet", "--python", str(interpreter), *pinned)
        (folder / "installed").touch()
        return interpreter

    def _find(self) -> str | None:
        """Where pyenv, else the search path, has that Python."""
        kept = sorted(Path.home().glob(f".pyenv/versions/{self.python}.*/bin/python"))
        if kept:
            return str(kept[-1])
        command = [UV, "python", "find", "--no-python-downloads", self.python]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def _uv(self, *arguments: str) -> None:
        subprocess.run([UV, *arguments], check=True, env={**os.environ, "UV_LINK_MODE": "copy"})


ENVIRONMENTS = (
    Environment("3.10", "2024.1.0"),
    Environment("3.12", "2025.1.0"),
    Environment("3.13", version("distributed")),
)
"""The oldest supported version, one in between, and the newest."""
