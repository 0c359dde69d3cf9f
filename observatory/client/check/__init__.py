"""`dask-observatory check`: whether a run is worse than earlier ones, for CI. Needs no Django, no pandas."""
