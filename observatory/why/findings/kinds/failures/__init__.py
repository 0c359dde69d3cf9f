"""What failed, never ended or could not run."""
