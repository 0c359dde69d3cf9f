"""Workloads of real clusters: each with one known cause of slowness or failure, and healthy ones."""
