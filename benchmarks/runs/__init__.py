"""Runs of any size, multiplied from a real one."""
