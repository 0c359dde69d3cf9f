"""Answers of timelines: how they are encoded, and which of their fields a public link shows."""
