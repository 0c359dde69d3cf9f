"""Reads and checks a configuration file: a release's configuration of Dask, and its environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from observatory.agent.release.release_facts import leaves
from observatory.agent.release.schemas import Problem, check
from observatory.agent.release.yaml_file import UnreadableError, read_yaml

SECTIONS = ("scheduler", "worker", "client")
PARTS = ("release", "environment", *SECTIONS)
LONGEST_NAME = 100
LONGEST_VALUE = 2_000
MOST_KEYS = 200
"""of a section"""
MOST_VARIABLES = 100
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OURS = ("DASK_", "OBSERVATORY_RELEASE")
"""beginnings of variables that a file can't set"""
PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Release:
    name: str
    environment: Mapping[str, str]
    sections: Mapping[str, Mapping[str, Any]]
    """Dask's configuration by section"""


@dataclass
class Checked:
    """What a file contains, and everything that is wrong with it."""

    release: Release | None = None
    """None: there are errors"""
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, part: str, problems: Iterator[Problem]) -> None:
        for problem in problems:
            place = f"{part}: {problem.key}" if problem.key else part
            (self.errors if problem.is_error else self.warnings).append(f"{place}: {problem.text}")


def read_release(path: Path) -> Checked:
    """Reads a file and checks it as a whole."""
    checked = Checked()
    try:
        content = read_yaml(path)
    except UnreadableError as error:
        checked.errors.append(str(error))
        return checked
    if not isinstance(content, dict):
        checked.errors.append(f"must be a mapping with {', '.join(PARTS)}")
        return checked
    for name in content:
        if name not in PARTS:
            checked.errors.append(f"{str(name)[:LONGEST_NAME]}: unknown; there are {', '.join(PARTS)}")
    checked.add("release", _check_name(content.get("release")))
    checked.add("environment", _check_environment(_part(content, "environment")))
    for section in SECTIONS:
        checked.add(section, _check_section(_part(content, section)))
    if not checked.errors:
        checked.release = Release(
            content["release"],
            _part(content, "environment"),
            {section: _part(content, section) for section in SECTIONS},
        )
    return checked


def _part(content: Mapping[str, Any], name: str) -> Any:
    """A part of the file; one without content is empty."""
    found = content.get(name)
    return {} if found is None else found


def _check_name(name: Any) -> Iterator[Problem]:
    if name is None:
        yield Problem("", "is missing: give the release a name")
    elif not isinstance(name, str):
        yield Problem("", 'must be text: write it in quotes, as in "2026.10"')
    elif not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        yield Problem("", f"must have 1 to {LONGEST_NAME} printable characters")


def _check_environment(variables: Any) -> Iterator[Problem]:
    if not isinstance(variables, dict):
        yield Problem("", "must be a mapping of variables")
        return
    if len(variables) > MOST_VARIABLES:
        yield Problem("", f"has more than {MOST_VARIABLES} variables")
    for name, value in variables.items():
        shown = str(name)[:LONGEST_NAME]
        if not isinstance(name, str) or not VARIABLE.fullmatch(name) or len(name) > LONGEST_NAME:
            yield Problem(shown, "is no name of a variable")
        elif name.startswith(OURS):
            yield Problem(name, f"can't be set here: use the sections {', '.join(SECTIONS)}")
        elif not isinstance(value, str):
            yield Problem(name, 'must be text: write it in quotes, as in "1"')
        elif len(value) > LONGEST_VALUE or "\0" in value:
            yield Problem(name, f"must have at most {LONGEST_VALUE:,} characters, and no null character")


def _check_section(section: Any) -> Iterator[Problem]:
    if not isinstance(section, dict):
        yield Problem("", "must be a mapping: Dask's configuration")
        return
    problems = list(_check_plain(section, ()))
    yield from problems
    if not problems and sum(1 for _ in leaves(section)) > MOST_KEYS:
        yield Problem("", f"has more than {MOST_KEYS} keys")
    elif not problems:
        yield from check(section)


def _check_plain(value: Any, path: tuple[str, ...]) -> Iterator[Problem]:
    """Yields what JSON can't hold, and what is too long."""
    key = ".".join(path)[:LONGEST_VALUE]
    if isinstance(value, dict):
        for name, each in value.items():
            if not isinstance(name, str) or not name or len(name) > LONGEST_NAME:
                text = f"a key must be text of at most {LONGEST_NAME} characters"
                yield Problem(".".join((*path, str(name)[:LONGEST_NAME])), f"{text}: write it in quotes")
            else:
                yield from _check_plain(each, (*path, name))
    elif isinstance(value, list):
        for each in value:
            yield from _check_plain(each, path)
    elif not isinstance(value, PLAIN):
        yield Problem(key, "is neither text, number, true, false nor null: write it in quotes")
    elif isinstance(value, str) and len(value) > LONGEST_VALUE:
        yield Problem(key, f"is longer than {LONGEST_VALUE:,} characters")
