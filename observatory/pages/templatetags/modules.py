"""Which modules a page's script needs: a browser that knows them fetches them at once, not one by one."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from django import template
from django.conf import settings

register = template.Library()

IMPORT = re.compile(r"""^(?:import|export)\b[^;"]*\bfrom "(\.[^"]+)";""", re.MULTILINE)


@register.simple_tag
@lru_cache(maxsize=16)
def modules_of(entry: str) -> list[str]:
    """The static paths of what `entry` (a static path below frontend/) imports, and what that imports."""
    return [path for path in _closure(settings.BASE_DIR / entry, settings.BASE_DIR) if path != entry]


def _closure(entry: Path, root: Path) -> list[str]:
    found, waiting = [entry], [entry]
    while waiting:
        module = waiting.pop()
        for reference in IMPORT.findall(module.read_text()):
            imported = (module.parent / reference).resolve()
            if imported not in found:
                found.append(imported)
                waiting.append(imported)
    return [path.relative_to(root).as_posix() for path in found]
