"""Simulated workers and pages, from recordings of real ones, in numbers beyond one machine."""
