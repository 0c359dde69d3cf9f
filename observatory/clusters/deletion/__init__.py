"""Deletes projects, clusters, rules, channels and people with all that is theirs."""
