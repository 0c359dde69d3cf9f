"""The Redis key of a collector's heartbeat. Readers import it without importing the collector."""

from __future__ import annotations

HEARTBEAT = "observatory:collector:"
"""Prefix of the keys; the collector's id follows."""
HEARTBEAT_LIFETIME = 8
"""Seconds. A collector is forgotten when its leases expire."""
