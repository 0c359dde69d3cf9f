"""Tasks that took long, or waited while they kept their thread."""
