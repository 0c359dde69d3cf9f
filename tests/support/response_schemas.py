"""Whether an answer is what its schema documents."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter


def assert_documented(schema: Any, document: Any) -> None:
    """The document has all that the schema requires, of the types that it says, and nothing else."""
    adapter = TypeAdapter(schema)
    parsed = adapter.validate_python(document, strict=False)
    assert adapter.dump_python(parsed, mode="json", exclude_unset=True) == document
