"""A real Dask cluster at work, to look at: a scheduler and workers in processes of their own."""

READY = "ready"
"""the file in the demo's folder that says that its cluster works"""
