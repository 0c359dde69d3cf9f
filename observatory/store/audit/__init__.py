"""The audit log in the database: triggers that note changes, and who changes something now."""
