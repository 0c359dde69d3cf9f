"""A simulation of recorded tasks on workers, with Dask's rules."""
