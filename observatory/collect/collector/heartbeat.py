"""Where a collector's heartbeat is kept in Redis; here, so that its readers don't import the collector."""

from __future__ import annotations

HEARTBEAT = "observatory:collector:"
"""prefix of the keys; a collector's id follows"""
HEARTBEAT_LIFETIME = 15
"""seconds"""
