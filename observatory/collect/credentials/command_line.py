"""Credentials from files and environment variables, for commands. Arguments would be shown by ps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from observatory.collect.credentials.certificates import LONGEST

FILES = {
    "password": "file with the password",
    "token": "file with the bearer token",
    "headers": "file with headers, one “Name: value” a line",
    "ca": "PEM file with the authorities to trust instead of the system's",
    "certificate": "PEM file with a client certificate",
    "key": "PEM file with its private key",
}


def add_arguments(parser: CommandParser) -> None:
    group = parser.add_argument_group(
        "credentials",
        "Secrets are read from files or from the variables OBSERVATORY_TARGET_PASSWORD and "
        "OBSERVATORY_TARGET_TOKEN: arguments of a command are visible to all users of the machine.",
    )
    group.add_argument("--username", default="", help="user name for basic authentication")
    for name, text in FILES.items():
        group.add_argument(f"--{name}-file", type=Path, metavar="FILE", help=text)


def read_credentials(options: dict[str, Any]) -> dict[str, str]:
    """The fields of credentials. Raises CommandError for a file that cannot be read."""
    fields = {name: read_file(options[f"{name}_file"]) for name in FILES if options[f"{name}_file"]}
    environment = {
        "password": os.environ.get("OBSERVATORY_TARGET_PASSWORD", "") if options["username"] else "",
        "token": os.environ.get("OBSERVATORY_TARGET_TOKEN", ""),
    }
    given = {name: value for name, value in environment.items() if value}
    return {"username": options["username"], **given, **fields}


def read_file(path: Path) -> str:
    """The text of a file, without the line break at its end. Raises CommandError."""
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise CommandError(f"{path} is larger than {LONGEST // 2**10} KiB.")
        return text.decode().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{path} cannot be read: {getattr(error, 'strerror', 'it is not text')}."
        ) from None
