"""Why clusters ended, where it matters which (Cluster.end_reason); the others are sentences for people."""

CLOSED = "the scheduler closed"
IMPORTED = "imported"
