"""What benchmarks measure, the line that each prints, and the table of those lines in docs/benchmarks.md."""
