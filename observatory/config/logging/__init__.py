"""Logging of all processes, and reports of errors."""
