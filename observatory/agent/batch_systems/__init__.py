"""Batch systems: the job in which this process runs. One module a system."""
