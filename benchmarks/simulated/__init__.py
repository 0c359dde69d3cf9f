"""More than a benchmark's machine could run, multiplied out of real ones: workers, and open pages."""
