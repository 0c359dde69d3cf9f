"""What threads of tasks that don't run wait in: values of a label, and words of sentences."""

from __future__ import annotations

LOCK, SLEEP, CONNECTION, FILE, FILE_LOCK = "lock", "sleep", "connection", "file", "file-lock"
PROCESS, OTHER = "process", "other"
TASK_WAITS = (LOCK, SLEEP, CONNECTION, FILE, FILE_LOCK, PROCESS, OTHER)
"""A condition and a queue are locks too, and so is Python's own (the GIL)."""
