"""SQL over rows of the tables and files of the archive, by DuckDB in a process of its own.

`query.run_query` starts the process, asks it what a query reads, has that written (`sources`) and takes the
result. `session` is the process.
"""
