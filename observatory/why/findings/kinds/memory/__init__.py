"""The memory of workers."""
