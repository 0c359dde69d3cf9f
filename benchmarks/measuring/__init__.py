"""Measuring helpers of the benchmarks: results, their JSON line, and the table in docs/benchmarks.md."""
