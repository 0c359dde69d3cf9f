"""Prints what the modules of folders say that they are: `list_modules.py observatory/store`."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT_OUT = {
    *("__init__.py", "__main__.py"),
    # names that say what is in them
    *(
        "admin.py",
        "api.py",
        "apps.py",
        "forms.py",
        "models.py",
        "schemas.py",
        "tags.py",
        "tasks.py",
        "urls.py",
    ),
}
OF_KINDS = {"channels", "kinds", "sums", "tools"}
"""folders in which each module is one of many of a kind, below them, too"""
FOLDERS_LEFT_OUT = {"management", "migrations", "templatetags"}


def modules(folders: list[str]) -> Iterator[Path]:
    """Those that say something of themselves, the modules of a folder before those of its sub-folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py"), key=lambda path: (path.parent.parts, path.name)):
            if FOLDERS_LEFT_OUT & set(path.parts):
                continue
            if OF_KINDS & set(path.parent.relative_to(ROOT).parts):
                if path.name == "__init__.py" and path.parent.name in OF_KINDS:
                    yield path.parent
            elif path.name not in LEFT_OUT and summary(path):
                yield path


def summary(path: Path) -> str:
    """The first sentence of a module's docstring."""
    module = path / "__init__.py" if path.is_dir() else path
    paragraph = (ast.get_docstring(ast.parse(module.read_text())) or "").split("\n\n")[0]
    words = " ".join(paragraph.split())
    return re.split(r"(?<=\.) ", words)[0]


if __name__ == "__main__":
    for path in modules(sys.argv[1:]):
        print(f"{path.relative_to(ROOT)}: {summary(path)}")
