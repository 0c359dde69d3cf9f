"""Rounds of archiving: of which clusters, and how fast."""
