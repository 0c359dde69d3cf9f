"""What is provisioned: made from files by `dask-observatory apply`, and changed there alone."""
