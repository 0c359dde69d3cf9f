"""The names that Dask gives tasks by their keys, and their colors, without importing Dask.

Its packages take 13 MiB, of which every process would have a share. Tests compare with the installed Dask.
"""

from __future__ import annotations

import re
from hashlib import md5
from itertools import takewhile
from typing import Any

OTHER = "Other"
"""what Dask calls prefix and group of a key without a name"""
UNNAMED = "data"
"""what Dask calls a key that is 32 hexadecimal digits alone"""
TOKEN = re.compile(r"[a-f0-9]{32}")
VIRIDIS = (
    *("#440154", "#471669", "#472A79", "#433C84", "#3C4D8A", "#355D8C", "#2E6C8E", "#287A8E", "#23898D"),
    *("#1E978A", "#20A585", "#2EB27C", "#45BF6F", "#64CB5D", "#88D547", "#AFDC2E", "#D7E219", "#FDE724"),
)
"""the colors of Dask's dashboard"""


def prefix_of(key: Any) -> str:
    """The prefix of a key. Raises IndexError and ValueError for a key that Dask refuses."""
    while type(key) in (bytes, tuple):
        key = key.decode() if type(key) is bytes else key[0]
    if not isinstance(key, str) or not key or key.startswith("-"):
        return OTHER
    first, *others = key.split("-")
    if not first[0].isalpha():
        first = first.split(",")[0].strip("_'()\"")
    name = "-".join((first, *takewhile(_belongs_to_name, others)))
    if TOKEN.fullmatch(name):
        return UNNAMED
    if name.startswith("<"):
        words = name.strip("<>").split()
        return words[0].split(".")[-1] if words else OTHER
    return name or OTHER


def group_of(key: Any) -> str:
    """The group of a key. Raises as `prefix_of`."""
    if isinstance(key, bytes):
        key = key.decode()
    if isinstance(key, tuple):
        return str(key[0])
    if not isinstance(key, str):
        return OTHER
    if key[0] == "(":
        return key.split(",", 1)[0].strip("()\"'")
    if TOKEN.fullmatch(key):
        return UNNAMED
    if key[0] == "<":
        return key.strip("<>").split()[0].split(".")[-1]
    return prefix_of(key)


def color_of(prefix: str) -> str:
    """The color in which Dask's dashboard shows a prefix (`#rrggbb`)."""
    digest = md5(prefix.encode(), usedforsecurity=False).hexdigest()
    return VIRIDIS[int(digest[:8], 16) % len(VIRIDIS)]


def _belongs_to_name(word: str) -> bool:
    """Whether a word behind a hyphen is part of the name, and no token or number."""
    return word.isalpha() and not (len(word) == 8 and word[0] in "abcdef")
