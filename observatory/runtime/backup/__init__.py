"""Backup of an Observatory into one file, and its restoration."""
