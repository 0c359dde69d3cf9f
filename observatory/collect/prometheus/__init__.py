"""Prometheus' remote protocols: their messages and bodies."""
