from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from observatory.alerts.rules.ready_made import make

SECRETS = {
    "OBSERVATORY_VAR_INTERACTIVE_TOKEN": "S3CR3T",
    "OBSERVATORY_VAR_ETL_WEBHOOK": "https://alerts.example.org/T0K3N",
    "OBSERVATORY_VAR_COLLECTOR": "https://collector.example.org/4DDR3SS",
    "OBSERVATORY_VAR_COLLECTOR_HEADERS": "Authorization: Bearer H34D\nX-Team: etl",
}
EXAMPLE = Path(__file__).parent.parent.parent.parent / "deploy/configuration"

Write = Callable[..., Path]


@pytest.fixture
def installation(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is after the first start: with the ready-made rules. The variables of the example are set."""
    make()
    for name, text in SECRETS.items():
        monkeypatch.setenv(name, text)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the files of a folder, which has no others then; returns the folder."""

    def write(text: str = "", /, **files: str) -> Path:
        folder = tmp_path / "configuration"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, content in {**({"all": text} if text else {}), **files}.items():
            (folder / f"{name}.yaml").write_text(content)
        return folder

    return write


def apply(folder: Path, *options: str) -> str:
    """What the command prints."""
    out = io.StringIO()
    try:
        call_command("apply", str(folder), "--yes", *options, stdout=out, stderr=out)
    except CommandError as error:
        raise AssertionError(f"{out.getvalue()}{error}") from None
    return out.getvalue()


def plan(folder: Path, *options: str) -> tuple[int, str]:
    """The exit code, and what the command prints."""
    out = io.StringIO()
    try:
        call_command("apply", str(folder), "--plan", *options, stdout=out, stderr=out)
    except SystemExit as left:
        return int(left.code or 0), out.getvalue()
    return 0, out.getvalue()


def refusal(folder: Path, *options: str) -> list[str]:
    """The lines that say what is wrong."""
    err = io.StringIO()
    with pytest.raises(CommandError, match="nothing was changed"):
        call_command("apply", str(folder), "--yes", *options, stdout=io.StringIO(), stderr=err)
    return err.getvalue().splitlines()


def export(folder: Path) -> tuple[dict[str, str], str]:
    """The files by name, and what the command prints."""
    out = io.StringIO()
    call_command("export", str(folder), stdout=out)
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.yaml")}
    return files, out.getvalue()
