"""Who changes something now. The triggers of the audit log read it from a setting of the transaction."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.db.backends.postgresql.base import DatabaseWrapper

SETTING = "observatory.actor"
WRITES = re.compile(r'\s*(INSERT|UPDATE|DELETE)(?: INTO| FROM)? "?(\w+)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Actor:
    """A person, a program or a command, and where the request came from."""

    kind: str
    """one of AuditEntry.ActorKind"""
    name: str = ""
    """of the account; of a command, the operating system's user and the command"""
    person: int | None = None
    """the number of the account"""
    token: str = ""
    """name and first characters of the access token"""
    address: str = ""
    """the client's, as the settings of proxies say"""
    door: str = ""
    """page, admin, API, command line"""
    is_noted: bool = True
    """False: its changes are noted as one already, such as a deletion with all that goes"""


FindActor = Callable[[], Actor]
"""asked when something is changed: who sends a request is known later than that one came"""
_finder: ContextVar[FindActor | None] = ContextVar("actor of the audit log", default=None)


def current_actor() -> Actor | None:
    """None: no person acts, such as in the collector."""
    find = _finder.get()
    return None if find is None else find()


def acts_from_now_on(actor: Actor) -> None:
    """All that this process changes is changed by `actor`."""
    _finder.set(lambda: actor)


@contextmanager
def acting(find: FindActor) -> Iterator[None]:
    """What is changed meanwhile, in this thread, is changed by whom `find` returns."""
    mark = _finder.set(find)
    try:
        yield
    finally:
        _finder.reset(mark)


def watch(connection: DatabaseWrapper, **_: Any) -> None:
    """Receives Django's signal connection_created."""
    if set_actor not in connection.execute_wrappers:
        connection.execute_wrappers.append(set_actor)


def set_actor(
    execute: Callable[..., Any], statement: Any, parameters: Any, many: bool, context: dict[str, Any]
) -> Any:
    """A wrapper of Django's `execute`: before a statement that writes, the transaction learns who acts."""
    from observatory.store.audit.subjects import is_noted

    find = _finder.get()
    if find is None:
        return execute(statement, parameters, many, context)
    written = WRITES.match(str(statement))
    if written is None or not is_noted(written[2], written[1].upper()):
        return execute(statement, parameters, many, context)
    connection, setting = context["connection"].connection, as_setting(find())
    if context["connection"].in_atomic_block:
        connection.execute(f"SELECT set_config('{SETTING}', %s, true)", [setting])
        return execute(statement, parameters, many, context)
    with connection.transaction():
        connection.execute(f"SELECT set_config('{SETTING}', %s, true)", [setting])
        return execute(statement, parameters, many, context)


def as_setting(actor: Actor) -> str:
    return json.dumps(asdict(actor)).replace("\\u0000", "")
