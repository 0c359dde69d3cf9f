"""A real Dask cluster to look at: a scheduler and workers in processes of their own."""

READY = "ready"
"""the file in the demo's folder that exists once its cluster works"""
