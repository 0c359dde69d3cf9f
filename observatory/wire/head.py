"""The head of an agent's batch."""

from __future__ import annotations

from dataclasses import dataclass

VERSION = 1


@dataclass(frozen=True, slots=True)
class Head:
    """Whose batch it is, and which of theirs."""

    agent: str
    """32 hexadecimal digits: one agent in one scheduler process"""
    sequence: int
    """1, 2, 3 … The batches of one agent come in this order"""
    scheduler_id: str
    name: str
    """of the cluster"""
    address: str
    """of the scheduler: tcp://host:8786"""
    started: float
    """when the scheduler started"""
    since: float
    """from when on the agent saw every task"""
    committed: float
    """the agent has told everything before this with this batch; 0: says nothing"""
    is_last: bool = False
    """the scheduler closes"""
    version: int = VERSION
