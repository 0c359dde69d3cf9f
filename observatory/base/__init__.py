"""What every room may import: environment variables, Redis, memory, JSON answers, static files, sign-in."""
