"""Prometheus' file service discovery: files of the server with target groups as JSON or YAML."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings
from django.core.exceptions import ValidationError

from observatory.collect.discovery.kind import MOST_FOUND, DiscoveryError, DiscoveryKind, Found, Question
from observatory.collect.discovery.target_groups import read_groups

SUFFIXES = (".json", ".yml", ".yaml")
FILE_LIMIT = 4 * 2**20
"""Most bytes of a file."""
MOST_FILES = 200
NO_FOLDER = (
    "This server reads no files: its administrator has to set OBSERVATORY_DISCOVERY_DIR to the folder of the "
    "files."
)


class FileServiceDiscovery(DiscoveryKind):
    label = "Prometheus: files of the server (file_sd)"
    examples = "schedulers/*.json, below OBSERVATORY_DISCOVERY_DIR"

    def clean_address(self, text: str) -> str:
        """The path relative to the folder that the settings allow."""
        folder, path = settings.DISCOVERY_DIR, Path(text)
        if folder is None:
            raise ValidationError(NO_FOLDER)
        if not text.isprintable() or ".." in path.parts or "*" in str(path.parent):
            raise ValidationError("Enter a path without .. in it, and with * only in the name of the file.")
        if path.suffix not in SUFFIXES:
            raise ValidationError(f"Enter files whose names end in {', '.join(SUFFIXES)}.")
        if not path.is_absolute():
            return str(path)
        try:
            return str(path.relative_to(folder))
        except ValueError:
            raise ValidationError(
                f"Only files below {folder} (OBSERVATORY_DISCOVERY_DIR) are read."
            ) from None

    async def find(self, question: Question) -> list[Found]:
        return await asyncio.to_thread(read_files, question.address)

    def is_on_this_machine(self, address: str) -> bool:
        return True

    def why_superuser(self, address: str) -> str:
        return "Only superusers may read files of the server."


DISCOVERY = FileServiceDiscovery()


def read_files(pattern: str) -> list[Found]:
    """The targets of all files that match, at most some more than MOST_FOUND. Raises DiscoveryError."""
    found: list[Found] = []
    try:
        for path in _files(pattern):
            found += read_groups(_document(path))
            if len(found) > MOST_FOUND:
                break
    except OSError as error:
        raise DiscoveryError(f"{pattern} cannot be read: {error.strerror}") from None
    return found


def _files(pattern: str) -> Iterator[Path]:
    """The matching files in the order of their names; a name without * has to be there."""
    if settings.DISCOVERY_DIR is None:
        raise DiscoveryError(NO_FOLDER)
    allowed = settings.DISCOVERY_DIR.resolve()
    place = allowed / pattern
    names = sorted(name for name in os.listdir(place.parent) if fnmatch(name, place.name))
    if not names and "*" not in place.name:
        raise DiscoveryError(f"there is no file {pattern}")
    if len(names) > MOST_FILES:
        raise DiscoveryError(f"more than {MOST_FILES} files match {pattern}")
    for name in names:
        path = (place.parent / name).resolve()
        if not path.is_relative_to(allowed):
            raise DiscoveryError(f"{name} is a link to a file outside of OBSERVATORY_DISCOVERY_DIR")
        if not path.is_file():
            raise DiscoveryError(f"{name} is no file")
        yield path


def _document(path: Path) -> Any:
    """What a file has in it. Raises DiscoveryError and OSError."""
    with path.open("rb") as file:
        content = file.read(FILE_LIMIT + 1)
    if len(content) > FILE_LIMIT:
        raise DiscoveryError(f"{path.name} is longer than {FILE_LIMIT // 2**20} MiB")
    try:
        return json.loads(content) if path.suffix == ".json" else _yaml(content)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise DiscoveryError(f"{path.name} is not valid {path.suffix[1:].upper()}: {reason}") from None


def _yaml(content: bytes) -> Any:
    # aliases can expand without limit
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(content, Loader=yaml.CSafeLoader)):
        raise ValueError("it has aliases (*name), which are not read")
    return yaml.load(content, Loader=yaml.CSafeLoader)
