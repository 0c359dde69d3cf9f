"""What is found out and done when the database, or Redis, stores nothing."""
