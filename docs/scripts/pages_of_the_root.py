"""For mkdocs: the documents of the repository's root are pages of the site as well."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent.parent
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
TO_DOCS = re.compile(r"\]\(docs/")
TO_FILES = re.compile(r"\[([^\]]*)\]\((?:\.\./)+deploy/[^)]*\)")
"""links to files that are no pages"""


def on_files(files: Files, config: Any) -> Files:
    for name in PAGES:
        content = TO_DOCS.sub("](", (ROOT / name).read_text())
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to the root's documents lead to their pages; those to other files are text."""
    markdown = TO_FILES.sub(r"\1", markdown)
    above = "../" * page.file.src_uri.count("/")
    for name in PAGES:
        markdown = markdown.replace(f"](../{above}{name}", f"]({above}{name}")
    return markdown
