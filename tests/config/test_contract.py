"""The browser's contract with the server is generated, and up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from observatory.config import contract
from observatory.wire.timeline_blocks import KINDS

HINT = "run `make contract`"


@pytest.mark.parametrize(
    ("path", "made"),
    [
        (contract.CONTRACT, contract.contract_module),
        (contract.BLOCKS, contract.blocks_page),
        (contract.TABS, contract.tabs_module),
        (contract.STYLES, contract.charts_styles),
        (contract.API, contract.api_types),
    ],
    ids=["contract.js", "blocks.md", "tabs.js", "charts.css", "api.d.ts"],
)
def test_a_generated_file_is_up_to_date(path: Path, made: object) -> None:
    assert callable(made)
    assert path.read_text() == made(), HINT


def test_every_kind_of_block_is_documented_with_its_columns() -> None:
    page = contract.BLOCKS.read_text()
    for kind in KINDS.values():
        [item] = [line for line in page.splitlines() if line.startswith(f"- **{kind.name}**: ")]
        for column in kind.columns:
            assert f"`{column.name}` {column.type}" in item
