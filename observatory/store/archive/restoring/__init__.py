"""Rows of files come back into the tables."""
