"""docs/configuration.md, deploy/configuration/ and the examples for CI: what they tell people works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from observatory.base.variables import VAR_PREFIX
from observatory.runtime.configuration.documents import MOST_BYTES, MOST_FILES
from observatory.runtime.management.commands.apply import CHANGES, Command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/configuration.md").read_text()
FOLDER = ROOT / "deploy/configuration"
GITHUB, GITLAB = (ROOT / f"deploy/ci/configuration-{name}.yaml" for name in ("github", "gitlab"))


def test_the_page_has_the_example() -> None:
    """tests/runtime/configuration applies it."""
    assert f"```yaml\n{(FOLDER / 'projects/etl.yaml').read_text()}```" in PAGE


def test_the_page_names_the_limits_and_the_prefix() -> None:
    assert f"{MOST_FILES:,} files and {MOST_BYTES // 2**20} MiB" in PAGE
    assert f"`{VAR_PREFIX}`" in PAGE
    assert f"\n| {CHANGES} | something would change" in PAGE


def commands() -> list[str]:
    on_github = [
        step["run"] for step in yaml.safe_load(GITHUB.read_text())["jobs"]["observatory"]["steps"][1:]
    ]
    rules = yaml.safe_load(GITLAB.read_text())["observatory"]["rules"]
    on_gitlab = [rule["variables"]["COMMAND"] for rule in rules]
    on_page = re.findall(r"^(dask-observatory apply .*?)(?: +#|$)", PAGE, re.MULTILINE)
    return [*on_github, *on_gitlab, *on_page]


@pytest.mark.parametrize("command", commands())
def test_the_commands_have_options_that_there_are(command: str) -> None:
    words: list[Any] = shlex.split(command.partition("||")[0])
    assert words[:2] == ["dask-observatory", "apply"]
    options = Command().create_parser("dask-observatory", "apply").parse_args(words[2:])
    assert options.folder == Path("observatory")
    assert not (options.plan and options.yes)


def test_both_examples_plan_apply_and_look_for_drift() -> None:
    assert len(commands()) == 3 + 3 + 2
    assert re.sub(r"\$\$", "$", "".join(sorted(commands()[3:6]))) == "".join(sorted(commands()[:3]))
