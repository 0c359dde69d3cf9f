"""docs/settings.md names every environment variable that the code reads, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
READERS = {
    "text",
    "words",
    "boolean",
    "choice",
    "number",
    "networks",
    "origins",
    "os.environ.get",
    "os.getenv",
}
NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


def variables_read(path: Path) -> Iterator[str]:
    """The names that a module asks for, by functions of environment.py or of os."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and node.args:
            name = node.args[0]
            if ast.unparse(node.func) not in READERS:
                continue
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            name = node.slice
        else:
            continue
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and NAME.fullmatch(name.value):
            yield name.value


def test_the_settings_that_are_read_are_the_settings_that_are_documented() -> None:
    read = {name for path in (ROOT / "observatory").rglob("*.py") for name in variables_read(path)}
    documented = re.findall(r"^- `([A-Z_]+)`[ :]", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert read == set(documented)
    assert len(read) >= 9


def test_reads_are_found_however_they_are_written(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('text("A_ONE", "")\nos.environ.get("A_TWO")\nos.environ["A_THREE"]\nx.get("lower")\n')
    assert set(variables_read(module)) == {"A_ONE", "A_TWO", "A_THREE"}
