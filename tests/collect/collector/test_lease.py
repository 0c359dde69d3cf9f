"""Collectors share targets by leases and take over from one that dies."""

from __future__ import annotations
