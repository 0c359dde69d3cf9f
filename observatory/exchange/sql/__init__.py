"""SQL over what somebody may see: `POST /api/v1/sql` and `dask-observatory sql` (docs/sql.md)."""
