"""Answers about a window of a timeline, mostly from kept sums."""
