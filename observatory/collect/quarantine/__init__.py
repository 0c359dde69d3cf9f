"""Batches that could not be stored while others could: kept on disk, so that they block no others."""
