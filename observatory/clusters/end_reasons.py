"""Why clusters ended, where it matters which (Cluster.end_reason); the others are sentences for people."""

CLOSED = "the scheduler closed"
IMPORTED = "imported"
UNOBSERVED = "no longer observed"
"""What reasons begin with where only the recording is known to have ended."""
TARGET_PAUSED = f"{UNOBSERVED}: its target was paused"
TARGET_DELETED = f"{UNOBSERVED}: its target was deleted"
MISSED = f"{UNOBSERVED}: when a collector looked again, its target had another scheduler or none"
