"""Scans: finds rows in the archive's files and has queries read them, without bringing whole kinds back."""
