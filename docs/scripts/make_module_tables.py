"""Writes the lists of folders in docs/architecture/: what each says that it is.

A page has a list between `<!-- modules: FOLDER … -->` and `<!-- end -->`. With folders as arguments, prints
what each of their modules says that it is.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "architecture"
LIST = re.compile(r"(<!-- modules: ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
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


def current(page: str) -> str:
    """The text of a page with its lists made anew."""
    return LIST.sub(lambda found: found[1] + listed(found[2].split()) + found[3], page)


def listed(folders: list[str]) -> str:
    """The folders that say something of themselves."""
    found = dict.fromkeys(path if path.is_dir() else path.parent for path in modules(folders))
    return "".join(
        f"- `{folder.relative_to(ROOT)}`: {summary(folder)}\n" for folder in found if summary(folder)
    )


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
    return re.split(r"(?<=\.) ", words)[0].replace("|", "\\|")


def main() -> None:
    for path in modules(sys.argv[1:]):
        print(f"{path.relative_to(ROOT)}: {summary(path)}")
    if not sys.argv[1:]:
        for page in PAGES.glob("*.md"):
            page.write_text(current(page.read_text()))


if __name__ == "__main__":
    main()
