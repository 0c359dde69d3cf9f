"""PostgreSQL and Valkey from Python wheels, in the data folder, reached by Unix socket only."""
