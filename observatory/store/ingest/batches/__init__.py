"""Batches of records as columns: how they are made, read and validated."""
