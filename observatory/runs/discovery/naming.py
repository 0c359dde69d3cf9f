"""Names of found runs: from the code that submitted the tasks, otherwise from their prefixes."""

from __future__ import annotations

import re
from pathlib import PurePath

from observatory.runs.models import LONGEST_NAME
from observatory.wire.client_code.runs import clean_line

MOST_PREFIXES = 2
FILE = re.compile(r"# (\S.*\.py|<.+>)(?:, lines? [\d, ]+ \(from line \d+\))?$", re.MULTILINE)
"""the first line of each frame's code, as agents send it"""
FUNCTION = re.compile(r"^\s*(?:async\s+)?def\s+(\w+)", re.MULTILINE)
TYPED = re.compile(r"ipykernel|<|^$")
"""file names of code in notebooks and shells"""
UNINFORMATIVE = re.compile(r"\s*(#|$|import\b|from\b|@|%|with\b|if __name__|[\"')\]}])")


def name_of(code: str, prefixes: list[str], count: int) -> str:
    """`prefixes` are the main ones out of `count`."""
    return _name_of_code(code) or _name_of_prefixes(prefixes[:MOST_PREFIXES], count) or "run"


def _name_of_code(code: str) -> str:
    """The function and file of the outermost frame; of interactive code its first informative line."""
    found = FILE.match(code)
    file = PurePath(found[1].replace("\\", "/")).name if found else ""
    source = code[found.end() :] if found else code
    function = FUNCTION.match(source.lstrip("\n"))
    if found and not TYPED.search(found[1]):
        name = f"{function[1]} in {file}" if function else file
    elif function:
        name = function[1]
    else:
        name = next((line for line in source.splitlines() if not UNINFORMATIVE.match(line)), "")
    return clean_line(name, LONGEST_NAME)


def _name_of_prefixes(prefixes: list[str], count: int) -> str:
    more = count - len(prefixes)
    text = ", ".join(prefixes) if more else " and ".join(prefixes)
    return clean_line(f"{text} and {more} more" if more else text, LONGEST_NAME)
