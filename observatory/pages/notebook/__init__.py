"""Runs and clusters as outputs of notebook cells: HTML with inline styles, no scripts, and plain text."""
