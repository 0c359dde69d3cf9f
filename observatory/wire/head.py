"""The head of an agent's batch."""

from __future__ import annotations

from dataclasses import dataclass, field

VERSION = 1


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """What an agent reports of itself when it sends a batch. None: unknown, because the agent is older."""

    version: str | None = None
    """of its software"""
    waiting: int | None = None
    """batches that are not acknowledged, with this one"""
    spooled: int | None = None
    """of the others, batches on disk"""
    spooled_bytes: int | None = None
    failures: int | None = None
    """errors of the agent itself since its start"""
    is_over: bool = False
    """whether its process is over: another agent, or `flush`, sends the batch from its disk"""


@dataclass(frozen=True, slots=True)
class Head:
    """The agent and the number of a batch."""

    agent: str
    """32 hexadecimal digits: one for each scheduler process"""
    sequence: int
    """1, 2, 3 …: the order in which an agent sends its batches"""
    scheduler_id: str
    name: str
    """of the cluster"""
    address: str
    """of the scheduler: tcp://host:8786"""
    started: float
    """start of the scheduler"""
    since: float
    """start of the agent, which reports every task since then"""
    committed: float
    """all records before this time are in this batch or an earlier one; 0: unknown"""
    is_last: bool = False
    """true in the last batch, when the scheduler closes"""
    version: int = VERSION
    status: AgentStatus = field(default_factory=AgentStatus)
