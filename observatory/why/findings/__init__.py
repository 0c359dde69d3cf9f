"""Findings: the causes of lost time or failure in a window, in sentences."""
