"""Threads and GPUs that had nothing to do."""
