"""A real Dask cluster at work, to look at: a scheduler and workers in processes of their own."""
