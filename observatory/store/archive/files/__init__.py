"""The files of the archive: what is in them, and how they are written."""
