"""What leaves the tables or the archive, and after which checks."""
