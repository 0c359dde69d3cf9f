"""Secrets by reference: files of configuration name the environment variable or file that has the secret.

Variables need a prefix, and files are in a folder of their own: whoever may change the configuration must not
be able to send other secrets of the server, such as its key, to an address of theirs.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from observatory.base.variables import VAR_PREFIX
from observatory.runtime.configuration.nodes import Mapping, Node, Problems, Scalar, shown

NAME = re.compile(rf"{VAR_PREFIX}[A-Z0-9_]{{1,200}}")
LARGEST = 2**20
HOW = f"Refer to it: {{env: {VAR_PREFIX}NAME}}, or {{file: NAME}} in the folder of --secrets."

Reference = dict[str, str]
"""{"env": name} or {"file": name}"""


@dataclass(frozen=True, slots=True)
class Secret:
    reference: Reference
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SecretReader:
    folder: Path | None
    """of files; None: there is none"""

    def read(self, node: Node, problems: Problems) -> Secret | None:
        """None, and a problem, for what isn't a reference or leads nowhere. No message has a secret in it."""
        if not isinstance(node, Mapping) or len(node.entries) != 1:
            problems.add(node.place, f"A secret isn't written here. {HOW}")
            return None
        [(way, name)] = node.entries.items()
        if way not in ("env", "file") or not isinstance(name, Scalar) or not name.text:
            problems.add(node.place, f"A secret isn't written here. {HOW}")
            return None
        try:
            text = _variable(name.text) if way == "env" else self._file(name.text)
        except ValueError as error:
            problems.add(name.place, str(error))
            return None
        return Secret({way: name.text}, text)

    def _file(self, name: str) -> str:
        if self.folder is None:
            raise ValueError("Say with --secrets FOLDER where files with secrets are.")
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError("The file has to be in the folder of --secrets.")
        if not path.is_file():
            raise ValueError(f"There is no file {shown(name)} in the folder of --secrets.")
        try:
            with path.open("rb") as file:
                content = file.read(LARGEST + 1)
            text = content.decode().rstrip("\r\n")
        except OSError as error:
            raise ValueError(f"The file {shown(name)} can't be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise ValueError(f"The file {shown(name)} isn't UTF-8 text.") from None
        if len(content) > LARGEST:
            raise ValueError(f"The file {shown(name)} is larger than {LARGEST // 2**20} MiB.")
        if not text:
            raise ValueError(f"The file {shown(name)} is empty.")
        return text


def _variable(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(
            f"The variable's name has to be {VAR_PREFIX} and then A to Z, 0 to 9 or _: others are not read."
        )
    if name not in os.environ:
        raise ValueError(f"The environment variable {name} isn't set.")
    if not os.environ[name]:
        raise ValueError(f"The environment variable {name} is empty.")
    return os.environ[name]


def reference_to_make(*words: str) -> Reference:
    """For a secret that people entered: the variable to put it into."""
    name = re.sub(r"[^A-Z0-9]+", "_", " ".join(words).upper()).strip("_")
    return {"env": f"{VAR_PREFIX}{name[:150]}"}
