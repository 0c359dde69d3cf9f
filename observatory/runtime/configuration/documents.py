"""Reads the YAML files of a folder. Their number and sizes are bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from observatory.base.plain_yaml import MAX_SIZE, NotPlain, check_plain
from observatory.runtime.configuration.nodes import Mapping, Place, Problems, Scalar, node_of

ENDINGS = (".yaml", ".yml")
MOST_FILES = 2_000
MOST_BYTES = 32 * 2**20
"""of all files together"""
LONGEST_NAME = 300


class NoFolder(ValueError):
    """The folder can't be read as one of configuration; the message says why."""


def read_folder(folder: Path, problems: Problems) -> list[Mapping]:
    """The contents of the files, by their names. Raises NoFolder."""
    if not folder.is_dir():
        raise NoFolder(f"{folder} isn't a folder.")
    paths = sorted(_files(folder))
    if not paths:
        raise NoFolder(
            f"{folder} has no {' or '.join(ENDINGS)} file. To let go of what is provisioned, use --release."
        )
    if len(paths) > MOST_FILES:
        raise NoFolder(f"{folder} has {len(paths):,} files; at most {MOST_FILES:,} are read.")
    contents, total = [], 0
    for path in paths:
        name = path.relative_to(folder).as_posix()
        content, size = _read(path, name, problems)
        total += size
        if total > MOST_BYTES:
            raise NoFolder(f"The files of {folder} are larger than {MOST_BYTES // 2**20} MiB together.")
        if content is not None:
            contents.append(content)
    return contents


def _files(folder: Path) -> Iterator[Path]:
    """Without hidden files and folders: of git, and those of mounted ConfigMaps, whose files are links."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if path.suffix in ENDINGS and not any(part.startswith(".") for part in parts) and path.is_file():
            yield path


def _read(path: Path, name: str, problems: Problems) -> tuple[Mapping | None, int]:
    """The content of a file, None for an empty or a wrong one, and its size."""
    place = Place(name, 1)
    if len(name) > LONGEST_NAME:
        problems.add(place, f"The name of the file is longer than {LONGEST_NAME} characters.")
        return None, 0
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SIZE + 1)
        text = content.decode()
        check_plain(text)
        written = yaml.compose(text, Loader=yaml.CSafeLoader)
    except NotPlain as error:
        problems.add(Place(name, error.line), str(error))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problems.add(Place(name, line), f"This is no YAML: {error.problem or error.context}.")
    except UnicodeDecodeError:
        problems.add(place, "The file isn't UTF-8 text.")
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problems.add(place, f"This is no YAML: {str(error)[:200]}")
    except OSError as error:
        problems.add(place, f"The file can't be read: {error.strerror}.")
    else:
        return _content(written, name, problems), len(content)
    return None, 0


def _content(written: yaml.Node | None, name: str, problems: Problems) -> Mapping | None:
    if written is None:
        return None
    node = node_of(written, name, "", problems)
    if isinstance(node, Scalar) and node.text is None:
        return None
    if not isinstance(node, Mapping):
        problems.add(node.place, "A file has to be an object with keys such as projects: and rules:.")
        return None
    return node
