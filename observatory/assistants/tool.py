"""A tool from a function: its parameters are the tool's arguments, its docstring describes it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent, ToolAnnotations
from mcp_types import Tool as Description
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from observatory.assistants.answers import Answer, as_text, structured
from observatory.assistants.rest_api import Api, ApiError
from observatory.assistants.texts import shown

LONGEST_ERROR = 1_000
READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


@dataclass(frozen=True, slots=True)
class Tool:
    function: Callable[..., Awaitable[Answer]]
    arguments: type[BaseModel]
    description: Description

    async def call(self, api: Api, arguments: Mapping[str, Any]) -> CallToolResult:
        """The answer; an error that says what to do differently, where there is none."""
        try:
            given = self.arguments.model_validate(arguments)
            found = structured(await self.function(api, **dict(given)))
        except ValidationError as error:
            return refusal(_wrong_arguments(error))
        except ApiError as error:
            return refusal(str(error))
        return CallToolResult(
            content=[TextContent(type="text", text=as_text(found))], structured_content=found
        )


def tool_of(function: Callable[..., Awaitable[Answer]]) -> Tool:
    """The first parameter is the API, the others are arguments; unknown arguments are refused."""
    _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
    fields: dict[str, Any] = {
        each.name: (each.annotation, ... if each.default is each.empty else each.default)
        for each in parameters
    }
    config = ConfigDict(extra="forbid", allow_inf_nan=False)
    arguments = create_model(function.__name__, __config__=config, **fields)
    description = Description(
        name=function.__name__,
        description=inspect.getdoc(function),
        input_schema=arguments.model_json_schema(),
        annotations=READS,
    )
    return Tool(function, arguments, description)


def refusal(text: str) -> CallToolResult:
    content = TextContent(type="text", text=shown(text, LONGEST_ERROR))
    return CallToolResult(content=[content], is_error=True)


def _wrong_arguments(error: ValidationError) -> str:
    wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:10]]
    return f"Wrong arguments: {'; '.join(wrong)}."
