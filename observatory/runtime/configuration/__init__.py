"""Configuration as files: `dask-observatory apply` makes the database as they say, `export` writes them."""
