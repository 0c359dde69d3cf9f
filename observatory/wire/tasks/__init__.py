"""Words and limits about tasks."""
