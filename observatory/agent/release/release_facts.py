"""What is recorded of the release that a process was started with, handed down in its environment."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from observatory.agent.release.masking import masked, secrets_of

if TYPE_CHECKING:
    from observatory.agent.release.configuration_file import Release

VARIABLE = "OBSERVATORY_RELEASE"
TOKENS = ("OBSERVATORY_TOKEN", "DASK_OBSERVATORY__TOKEN", "DASK_OBSERVATORY__RETIRE_TOKEN")
"""variables with the agent's own secrets"""
LONGEST_NAME = 200
LONGEST_VALUE = 300
MOST_CHARACTERS = 40_000
"""of all values with their names; the rest is counted"""
MOST_READ = 2 * MOST_CHARACTERS
"""characters of a record"""


def record_of(release: Release, section: str, environ: Mapping[str, str]) -> str:
    """The record of a process that is started with a section: JSON, without secrets and within limits.

    Of secrets the digest knows nothing either: short ones could be guessed from it.
    """
    content = {"environment": dict(release.environment), **release.sections}
    of_file = frozenset(secrets_of(content))
    secrets = of_file | {environ[name] for name in TOKENS if environ.get(name)}
    shown = masked(content, secrets)
    parts = {part: shown[part] for part in ("environment", section)}
    return json.dumps(
        {
            "name": masked(release.name, secrets),
            "digest": digest_of(masked(content, of_file)),
            "values": _values(parts),
        }
    )


def digest_of(content: Any) -> str:
    """The digest of a file's masked content, the same in each process that is started with the file."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _values(parts: Mapping[str, Any]) -> dict[str, str]:
    """The values as texts, as many as there is room for."""
    found, size, left_out = {}, 0, 0
    for part, content in parts.items():
        for key, value in leaves(content):
            name, text = f"{part}: {key}"[:LONGEST_NAME], _text(value)[:LONGEST_VALUE]
            size += len(json.dumps([name, text]))
            if size <= MOST_CHARACTERS:
                found[name] = text
            else:
                left_out += 1
    return {**found, "values left out": str(left_out)} if left_out else found


def release_of_process() -> dict[str, Any]:
    """The record of this process; empty where it was not started with a release."""
    try:
        text = os.environ.get(VARIABLE, "")
        found = json.loads(text) if len(text) <= MOST_READ else {}
        return {
            "name": str(found["name"])[:LONGEST_NAME],
            "digest": str(found["digest"])[:LONGEST_NAME],
            "values": {
                str(name)[:LONGEST_NAME]: str(value)[:LONGEST_VALUE]
                for name, value in found["values"].items()
            },
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def leaves(section: Mapping[str, Any], parents: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yields the keys with their parents, as in distributed.worker.memory.target, and their values."""
    for name, value in section.items():
        path = (*parents, name)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, path)
        else:
            yield ".".join(path), value
