"""The log lines of a timeline: search and counts."""
