"""Runs of any size, multiplied out of a real one."""
